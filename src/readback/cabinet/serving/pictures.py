"""Whether a file is a whole picture that browsers can show: PNG, SVG or ICO.

Nothing is decoded or changed. Scripts in an SVG are not searched for: the policy that
it is served with does not allow any.
"""

import re
import struct
import zlib
from xml.parsers import expat

TYPES = {"svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon"}
# A small file can unfold into more pixels than a browser has memory for.
_MAX_PIXELS = 4096
_PNG, _ICO = b"\x89PNG\r\n\x1a\n", b"\x00\x00\x01\x00"
_SVG = "http://www.w3.org/2000/svg svg"
_NUMBER = r"(\d*\.?\d+)"
_VIEW_BOX = re.compile(rf"\s*[-\d.e]+[\s,]+[-\d.e]+[\s,]+{_NUMBER}[\s,]+{_NUMBER}\s*")
_LENGTH = re.compile(rf"\s*{_NUMBER}(px|pt|mm|cm|in)?\s*")


def ratio_of(kind: str, content: bytes) -> float:
    """Return how many times as wide as high a picture is.

    Raise ValueError with what is wrong with it.
    """
    width, height = {"png": _png, "svg": _svg, "ico": _ico}[kind](content)
    if not width or not height:
        raise ValueError("is a picture without width or height")
    return width / height


def _png(content: bytes) -> tuple[float, float]:
    if not content.startswith(_PNG):
        raise ValueError("is not a PNG picture")
    at, width, height, kind = len(_PNG), 0, 0, b""
    try:
        while kind != b"IEND":
            length, kind = struct.unpack_from(">I4s", content, at)
            [checksum] = struct.unpack_from(">I", content, at + 8 + length)
            if zlib.crc32(content[at + 4 : at + 8 + length]) != checksum:
                raise ValueError("is a damaged PNG picture")
            if kind == b"IHDR":
                width, height = struct.unpack_from(">II", content, at + 8)
            at += 12 + length
    except struct.error:
        raise ValueError("is a PNG picture that is cut off") from None
    if max(width, height) > _MAX_PIXELS:
        raise ValueError(f"has more than {_MAX_PIXELS} pixels on one side")
    return width, height


def _svg(content: bytes) -> tuple[float, float]:
    elements: list[tuple[str, dict[str, str]]] = []

    def refuse(*_: object) -> None:
        raise ValueError("defines entities, which an SVG picture does not need")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda *element: elements.append(element)
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(f"is not an SVG picture: {error}") from None
    root, attributes = elements[0]
    if root != _SVG:
        raise ValueError("is not an SVG picture: its root is not an svg element")
    if box := _VIEW_BOX.fullmatch(attributes.get("viewBox", "")):
        return float(box[1]), float(box[2])
    sides = [
        _LENGTH.fullmatch(attributes.get(name, "")) for name in ("width", "height")
    ]
    width, height = (float(side[1]) if side else 0.0 for side in sides)
    return width, height


def _ico(content: bytes) -> tuple[float, float]:
    if not content.startswith(_ICO) or len(content) < 22:
        raise ValueError("is not an ICO picture")
    return content[6] or 256, content[7] or 256
