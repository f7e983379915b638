"""The plot of a soak: answers per second, and the private memory of every worker."""

from collections.abc import Sequence
from html import escape
from typing import Any

from bench import plots

LEFT = 64
RIGHT = 16
RATE_TOP = 84
RATE_BOTTOM = 230
MEMORY_TOP = 262
MEMORY_BOTTOM = 352
HEIGHT = 404
STYLE = """<style>
.line { stroke: #d1d9e0; }
.away { fill: #d4a72c; opacity: 0.25; }
.reload { stroke: #59636e; stroke-width: 1.5; }
.kill { stroke: #8250df; stroke-width: 2; }
.lost { fill: #cf222e; }
.curve { fill: none; stroke: #0b6e4f; stroke-width: 1.5; stroke-linecap: round; }
@media (prefers-color-scheme: dark) {
  .line { stroke: #3d444d; }
  .away { fill: #e3b341; }
  .reload { stroke: #9198a1; }
  .kill { stroke: #bc8cff; }
  .lost { fill: #ff7b72; }
  .curve { stroke: #4cc38a; }
}
</style>"""

Timeline = dict[str, Any]
Curve = list[tuple[float, float]]
"""Points; x is a coordinate in the picture."""


def draw(title: str, timeline: Timeline, figures: dict[str, Any]) -> str:
    seconds: float = timeline["seconds"]

    def x_of(at: float) -> float:
        share = min(max(at / seconds, 0.0), 1.0)
        return LEFT + share * (plots.WIDTH - LEFT - RIGHT)

    parts = [STYLE, _legend(timeline, figures["lost"])]
    for start, end, _ in timeline["outages"]:
        parts.append(
            f'<rect class="away" x="{x_of(start):.1f}" y="{RATE_TOP}" '
            f'width="{max(1.0, x_of(end) - x_of(start)):.1f}" '
            f'height="{MEMORY_BOTTOM - RATE_TOP}"/>'
        )
    for at in timeline["reloads"]:
        parts.append(_line("reload", x_of(at), RATE_BOTTOM - 8, RATE_BOTTOM))
    for at in timeline["kills"]:
        parts.append(_line("kill", x_of(at), RATE_TOP, RATE_BOTTOM))
    for at in figures["lost_at"]:
        x = x_of(at)
        parts.append(f'<circle class="lost" cx="{x:.1f}" cy="{RATE_TOP + 5}" r="3"/>')

    def curve(at: Sequence[float], values: Sequence[float]) -> Curve:
        return list(zip(map(x_of, at), values, strict=True))

    rates = curve(timeline["at"], timeline["answers_per_second"])
    parts += _chart([rates], RATE_TOP, RATE_BOTTOM, "answers per second")
    workers = [curve(each["at"], each["mib"]) for each in timeline["workers"]]
    title_of_memory = "private memory of each worker, MiB"
    parts += _chart(workers, MEMORY_TOP, MEMORY_BOTTOM, title_of_memory)
    for minute in _minutes(seconds):
        x = min(x_of(minute * 60), plots.WIDTH - 40)
        parts.append(_label(x, MEMORY_BOTTOM + 20, f"{minute:g} min", "middle"))
    return plots.svg(title, parts, HEIGHT)


def _legend(timeline: Timeline, lost: int) -> str:
    """Return the symbols, each with its meaning and how often it occurs."""
    entries = [
        (_line("reload", 14, 40, 48), f"{len(timeline['reloads'])} reloads"),
        (_line("kill", 134, 36, 50), f"{len(timeline['kills'])} killed workers"),
        (
            '<rect class="away" x="268" y="36" width="14" height="14"/>',
            f"database away, {len(timeline['outages'])} times",
        ),
        (
            '<circle class="lost" cx="468" cy="43" r="3"/>',
            f"{lost:,} requests lost outside of kills",
        ),
    ]
    places = (22, 142, 290, 478)
    return "".join(
        sign + _label(x, 48, text)
        for (sign, text), x in zip(entries, places, strict=True)
    )


def _chart(curves: Sequence[Curve], top: int, bottom: int, name: str) -> list[str]:
    most = max([value for curve in curves for _, value in curve] + [1.0])

    def drawn(curve: Curve) -> str:
        points = [f"{x:.1f},{bottom - y / most * (bottom - top):.1f}" for x, y in curve]
        # The last point is repeated, so that a worker that was seen once is a dot.
        return " ".join([*points, points[-1]])

    return [
        f'<line class="line" x1="{LEFT}" x2="{plots.WIDTH - RIGHT}" y1="{bottom}" '
        f'y2="{bottom}"/>',
        _label(LEFT, top - 10, name),
        _label(LEFT - 8, top + 5, f"{most:,.0f}", "end"),
        _label(LEFT - 8, bottom + 4, "0", "end"),
        *(f'<polyline class="curve" points="{drawn(each)}"/>' for each in curves),
    ]


def _minutes(seconds: float) -> list[float]:
    """Return about five round times for the axis."""
    steps = (0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 240)
    step = next((each for each in steps if seconds / 60 / each <= 6), 480)
    return [step * n for n in range(int(seconds / 60 / step) + 1)]


def _line(kind: str, x: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'


def _label(x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text class="quiet" x="{x:.1f}" y="{y}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
