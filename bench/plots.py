"""The plots as SVG; they follow the light or dark mode of the reader's system.

Bars for throughput, on a linear scale so that lengths are comparable; ranges from the
median to the 99.9th percentile for latency, on a logarithmic scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH = 760
LEFT = 225
RIGHT = 120
ROW = 30
TOP = 46
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; }
.quiet { fill: #59636e; }
.line { stroke: #d1d9e0; }
.bar, .dot { fill: #8c959f; }
.span { stroke: #8c959f; stroke-width: 3; }
.own .bar, .own .dot { fill: #0b6e4f; }
.own .span { stroke: #0b6e4f; }
.own text { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .quiet { fill: #9198a1; }
  .line { stroke: #3d444d; }
  .own .bar, .own .dot { fill: #4cc38a; }
  .own .span { stroke: #4cc38a; }
}
"""


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    note: str
    highlighted: bool


@dataclass(frozen=True)
class Span:
    label: str
    marks: Sequence[float]
    """Median, 99th and 99.9th percentile, in microseconds."""
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


def spans(title: str, rows: Sequence[Span]) -> str:
    values = [mark for row in rows for mark in row.marks]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    bottom = TOP + len(rows) * ROW

    def x_of(value: float) -> float:
        share = (log10(value) - low) / max(1, high - low)
        return LEFT + share * (WIDTH - LEFT - 40)

    groups = [_axis(x_of(10**power), 10**power, bottom) for power in _powers(low, high)]
    for number, row in enumerate(rows):
        y = TOP + number * ROW + 9
        xs = [x_of(mark) for mark in row.marks]
        dots = [
            f'<circle class="dot" cx="{x:.1f}" cy="{y}" r="{radius}"/>'
            for x, radius in zip(xs, (6, 4, 3), strict=True)
        ]
        line = (
            f'<line class="span" x1="{xs[0]:.1f}" x2="{xs[-1]:.1f}" y1="{y}" y2="{y}"/>'
        )
        groups.append(_group(row.highlighted, _label(row.label, y - 9), line, *dots))
    return svg(title, groups, bottom + 30)


def _powers(low: int, high: int) -> range:
    return range(low, max(high, low + 1) + 1)


def _axis(x: float, microseconds: float, bottom: int) -> str:
    label = (
        f"{microseconds / 1000:g} ms"
        if microseconds >= 1000
        else f"{microseconds:g} µs"
    )
    return (
        f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}"/>'
        f'<text class="quiet" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">'
        f"{label}</text>"
    )


def _label(label: str, y: float) -> str:
    return (
        f'<text x="{LEFT - 12}" y="{y + 14}" text-anchor="end">{escape(label)}</text>'
    )


def _text(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y}">{escape(text)}</text>'


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
