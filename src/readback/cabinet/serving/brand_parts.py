"""What a brand folder may contain: an accent that can be read, and whole pictures.

All other colours are fixed in cabinet.css, and a test compares those that are repeated
here. Contrast is that of WCAG 2.2, which asks for 4.5 between text and its background.

Pictures are neither decoded nor changed. Scripts in an SVG are not searched for: the
policy that it is served with does not allow any.
"""

import re
import struct
import zlib
from typing import NamedTuple
from xml.parsers import expat

MIN_CONTRAST = 4.5
# In the dark a colour can be as light as it needs to be, so more is asked of it.
_DARK_CONTRAST = 7.0
_WHITE, _BLACK = "#ffffff", "#000000"
TYPES = {"svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon"}
# A small file can unfold into more pixels than a browser has memory for.
_MAX_PIXELS = 4096
_PNG, _ICO = b"\x89PNG\r\n\x1a\n", b"\x00\x00\x01\x00"
_SVG = "http://www.w3.org/2000/svg svg"
_NUMBER = r"(\d*\.?\d+)"
# Of an attribute with numbers: the patterns take long for many digits.
_MAX_ATTRIBUTE = 100
_VIEW_BOX = re.compile(rf"\s*[-\d.e]+[\s,]+[-\d.e]+[\s,]+{_NUMBER}[\s,]+{_NUMBER}\s*")
_LENGTH = re.compile(rf"\s*{_NUMBER}(px|pt|mm|cm|in)?\s*")


class Surface(NamedTuple):
    """What the accent is seen on, and the text beside it."""

    background: str
    panel: str
    text: str


class Palette(NamedTuple):
    """The accent, text on it, and a background that reminds of it."""

    accent: str
    on_accent: str
    highlight: str


class Colours(NamedTuple):
    light: Palette
    dark: Palette

    @property
    def css(self) -> str:
        def rule(palette: Palette) -> str:
            accent, on_accent, highlight = palette
            return (
                f":root {{ --accent: {accent}; --on-accent: {on_accent}; "
                f"--highlight: {highlight}; }}\n"
            )

        dark = f"@media (prefers-color-scheme: dark) {{\n{rule(self.dark)}}}\n"
        return rule(self.light) + dark


LIGHT = Surface("#fcfcfa", "#f3f3ee", "#20272b")
DARK = Surface("#14181a", "#1c2124", "#e8e8e3")
OURS = Colours(
    Palette("#0b6e63", _WHITE, "#d5ece6"), Palette("#63cdbb", "#0d1d1a", "#1d433d")
)


def derive(accent: str) -> Colours:
    """Return the colours for an accent such as #0b6e63.

    Raise ValueError if it cannot be read on a light page. It is used as it is there; on
    a dark page it becomes lighter until it can be read.
    """
    found = _readability(accent, LIGHT)
    if found < MIN_CONTRAST:
        darker = _mixed_until(accent, _BLACK, LIGHT, MIN_CONTRAST)
        raise ValueError(
            f"{accent} is too light for text on a light page: its contrast is "
            f"{found:.1f} and must be at least {MIN_CONTRAST}; {darker} would do"
        )
    lighter = _mixed_until(accent, _WHITE, DARK, _DARK_CONTRAST)
    return Colours(
        Palette(accent, _WHITE, _mix(LIGHT.background, accent, 0.16)),
        Palette(lighter, OURS.dark.on_accent, _mix(DARK.background, lighter, 0.25)),
    )


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _readability(accent: str, surface: Surface) -> float:
    return min(contrast(accent, surface.background), contrast(accent, surface.panel))


def _mixed_until(accent: str, end: str, surface: Surface, enough: float) -> str:
    mixed = (_mix(accent, end, step / 100) for step in range(101))
    return next(one for one in mixed if _readability(one, surface) >= enough)


def _mix(one: str, other: str, share: float) -> str:
    """Return a colour with this share of the other one in it."""
    pairs = zip(_channels(one), _channels(other), strict=True)
    mixed = (round(a + (b - a) * share) for a, b in pairs)
    return f"#{''.join(f'{channel:02x}' for channel in mixed)}"


def _luminance(colour: str) -> float:
    parts = (channel / 255 for channel in _channels(colour))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _channels(colour: str) -> bytes:
    return bytes.fromhex(colour[1:])


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
    values = {name: value[:_MAX_ATTRIBUTE] for name, value in attributes.items()}
    if root != _SVG:
        raise ValueError("is not an SVG picture: its root is not an svg element")
    if box := _VIEW_BOX.fullmatch(values.get("viewBox", "")):
        return float(box[1]), float(box[2])
    sides = [_LENGTH.fullmatch(values.get(name, "")) for name in ("width", "height")]
    width, height = (float(side[1]) if side else 0.0 for side in sides)
    return width, height


def _ico(content: bytes) -> tuple[float, float]:
    if not content.startswith(_ICO) or len(content) < 22:
        raise ValueError("is not an ICO picture")
    return content[6] or 256, content[7] or 256
