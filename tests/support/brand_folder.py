"""A folder for READBACK_BRAND_DIR, with every file that it may contain."""

import struct
import zlib
from pathlib import Path

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">'
    "<script>document.title = 'from the logo'</script><circle r='9'/></svg>"
)
TEXTS = """
accent = "#7a1f5c"
accent_dark = "#e0a3cb"
notice = "Closed on <b>Monday</b>: https://status.example.org/"
mail_footer = "Aurora Ltd\\nRiga & <b>Oslo</b>"
[links]
"Terms <b>" = 'https://www.aurora.example/terms?"'
"""


def png(width: int, height: int) -> bytes:
    """Return a picture of one colour."""
    rows = zlib.compress((b"\0" + bytes(width)) * height)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def fill(folder: Path) -> Path:
    """Write a complete brand into the folder."""
    files = {
        "logo.svg": LOGO,
        "logo-dark.png": png(64, 64),
        "favicon.png": png(32, 32),
        "brand.toml": TEXTS,
        "README.txt": "Ask the design team.",
    }
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    return folder
