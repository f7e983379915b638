"""The plots as SVG; they follow the light or dark mode of the reader's system.

The scale is linear, so that lengths are comparable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 760
LEFT = 225
RIGHT = 120
ROW = 30
TOP = 46
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; }
.quiet { fill: #59636e; }
.bar { fill: #8c959f; }
.own .bar { fill: #0b6e4f; }
.own text { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .quiet { fill: #9198a1; }
  .own .bar { fill: #4cc38a; }
}
"""


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    note: str
    highlighted: bool


def bars(title: str, rows: Sequence[Bar]) -> str:
    longest = max(row.value for row in rows)
    groups = []
    for number, row in enumerate(rows):
        length = max(1.0, row.value / longest * (WIDTH - LEFT - RIGHT))
        y = TOP + number * ROW
        groups.append(
            _group(
                row.highlighted,
                _label(row.label, y),
                f'<rect class="bar" x="{LEFT}" y="{y}" height="18" rx="2" '
                f'width="{length:.1f}"/>',
                _text(row.note, LEFT + length + 8, y + 14),
            )
        )
    return svg(title, groups, TOP + len(rows) * ROW + 10)


def _label(label: str, y: float) -> str:
    return (
        f'<text x="{LEFT - 12}" y="{y + 14}" text-anchor="end">{escape(label)}</text>'
    )


def _text(text: str, x: float, y: float, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'


def _group(highlighted: bool, *parts: str) -> str:
    return f'<g class="{"own" if highlighted else "other"}">{"".join(parts)}</g>'


def svg(title: str, parts: Sequence[str], height: int) -> str:
    """Return a picture with a title and the given parts below it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n"
        f'<text class="title" x="8" y="22">{escape(title)}</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
