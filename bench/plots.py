"""The plots as SVG; they follow the light or dark mode of the reader's system.

Bars for throughput, on a linear scale so that lengths are comparable; ranges from the
median to the 99.9th percentile for latency, and curves, on logarithmic scales.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH = 760
LEFT = 225
RIGHT = 120
ROW = 30
TOP = 46
LABEL_HEIGHT = 16
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
CURVE_STYLE = """<style>
polyline, .mark { fill: none; stroke: #0b6e4f; stroke-width: 2.5; }
.curve1 { stroke: #59636e; stroke-dasharray: 7 4; }
.curve2 { stroke: #8250df; stroke-dasharray: 2 3; }
.mark { stroke: #cf222e; stroke-width: 1; }
@media (prefers-color-scheme: dark) {
  polyline { stroke: #4cc38a; } .curve1 { stroke: #9198a1; }
  .curve2 { stroke: #bc8cff; } .mark { stroke: #ff7b72; }
}
</style>"""


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


def curves(
    title: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    mark: float,
    mark_label: str,
) -> str:
    """Draw curves on logarithmic axes, with a horizontal mark."""
    xs, ys = zip(*(point for points in lines.values() for point in points), strict=True)
    left, right, bottom = 64, 120, 330
    low_x, high_x = floor(log10(min(xs))), ceil(log10(max(xs)))
    low_y, high_y = floor(log10(min(ys))), ceil(log10(max(*ys, mark)))

    def x_of(x: float) -> float:
        share = (log10(x) - low_x) / max(1, high_x - low_x)
        return left + share * (WIDTH - left - right)

    def y_of(y: float) -> float:
        share = (log10(y) - low_y) / max(1, high_y - low_y)
        return bottom - share * (bottom - TOP)

    parts = [CURVE_STYLE]
    for power in _powers(low_x, high_x):
        parts.append(_grid_line(x_of(10**power), TOP, x_of(10**power), bottom))
        parts.append(_text(_count(power), x_of(10**power), bottom + 18, "middle"))
    for power in _powers(low_y, high_y):
        parts.append(_grid_line(left, y_of(10**power), WIDTH - right, y_of(10**power)))
        parts.append(_text(_count(power), left - 8, y_of(10**power) + 4, "end"))
    y = y_of(mark)
    parts.append(f'<path class="mark" d="M{left} {y:.1f}H{WIDTH - right}"/>')
    parts.append(_text(mark_label, left + 8, y - 6))
    for style, points in enumerate(lines.values()):
        line = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in points)
        parts.append(f'<polyline class="curve{style}" points="{line}"/>')
    lowest = 0.0
    for name, points in sorted(lines.items(), key=lambda item: -item[1][-1][1]):
        lowest = max(lowest + LABEL_HEIGHT, y_of(points[-1][1]) + 4)
        parts.append(_text(name, WIDTH - right + 8, lowest))
    return svg(title, parts, bottom + 30)


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line class="line" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
    )


def _count(power: int) -> str:
    """Write a power of ten: 0.01, 100, 10 k, 1 M."""
    for unit, exponent in (("M", 6), ("k", 3)):
        if power >= exponent:
            return f"{10 ** (power - exponent)} {unit}"
    return f"{10.0**power:g}"


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
