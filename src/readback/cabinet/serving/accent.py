"""The accent colour: its contrast, and the colours that are derived from it.

All other colours are fixed in cabinet.css, and a test compares those that are repeated
here. Contrast is that of WCAG 2.2, which asks for 4.5 between text and its background.
"""

from typing import NamedTuple

MIN_CONTRAST = 4.5
# In the dark a colour can be as light as it needs to be, so more is asked of it.
_DARK_CONTRAST = 7.0
_WHITE, _BLACK = "#ffffff", "#000000"


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
