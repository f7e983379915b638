"""Write the results of `bench scale` into docs/scale*.md and their plot."""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any

from bench import fleet_limits, fleet_model, goals, plots, render, results
from bench.errors import MeasurementError
from bench.fleet import hash_points
from bench.fleet_limits import limits_of
from bench.fleet_model import Demand, Figures, Fleet, plan
from bench.paths import ROOT
from bench.scale_costs import figures_of
from bench.traffic import NEW_CONNECTIONS

PAGE = ROOT / "docs" / "scale.md"
MODEL_PAGE = ROOT / "docs" / "scale-model.md"
PICTURE = render.PICTURES / "scale.svg"
PLOT_TITLE = "Busy cores over requests per second, 10 requests a second with each key"
SIZES = (1_000, 1_000_000, 100_000_000)
LINES: dict[str, Callable[[Fleet], float]] = {
    "API": lambda fleet: fleet.load.worker_cpu,
    "HAProxy": lambda fleet: fleet.load.balancer_cpu,
    "PostgreSQL": lambda fleet: fleet.load.database_cpu,
}
# What to do when a limit of the model is reached.
NEXT_STEPS = {
    "connections of PostgreSQL": "raise `max_connections`, or PgBouncer (tested)",
    "CPU of one balancer": "more balancers with the same file",
    "network of one balancer": "more balancers with the same file",
    "CPU of one PostgreSQL": "fewer workers that know a key; then cells",
    "health checks of one balancer": "cells",
    "a second to notice a change": "fewer workers that know a key; then a change feed",
    "outcomes that go on in a worker": "more replicas",
    "keys of a replica": "more replicas",
}
# Cores that other programs may use before their effect has to be mentioned.
QUIET_SHARE = 0.2
BUSY_MACHINE = (
    " So **this run was on a busy machine**: the counts hold, but CPU times, and with "
    "them the fleets, are larger than on a quiet one."
)
MEASURED = {
    "statements": ("statements per second", 1.0, ",.1f"),
    "rows": ("rows per second", 1.0, ",.0f"),
    "known_keys": ("keys known to a worker, all workers", 1.0, ",.0f"),
    "worker_cpu": ("CPU of the workers per request, µs", 1e6, ".1f"),
    "balancer_cpu": ("CPU of HAProxy per request, µs", 1e6, ".1f"),
    "database_cpu": ("CPU of PostgreSQL per second, ms", 1e3, ".1f"),
    "busiest": ("share of the busiest replica, %", 1e2, ".0f"),
}

Row = dict[str, Any]


def published_figures() -> Figures:
    """Return the figures of the published results."""
    return figures_of(_published()["costs"])


def write() -> None:
    """Write the generated parts of the pages, and the plot."""
    found = _published()
    PICTURE.write_text(picture(figures_of(found["costs"])), encoding="utf-8")
    for page, parts in sections(found).items():
        for part, text in parts.items():
            render.replace_section(page, part, text)


def sections(found: Row) -> dict[Path, dict[str, str]]:
    """Return the text of each generated part, by page."""
    figures = figures_of(found["costs"])
    return {
        PAGE: {"scale-answer": answer(figures), "scale-limits": limits(figures)},
        MODEL_PAGE: {
            "scale-environment": environment(found),
            "scale-costs": costs(found["costs"]),
            "scale-check": check(found["fleets"]),
        },
    }


def answer(figures: Figures) -> str:
    """Return the table of the three sizes, and the plot."""
    points = hash_points()
    demands = {f"{rate:,}/s": Demand.usual(rate, hash_points=points) for rate in SIZES}
    demands[f"{SIZES[1]:,}/s, one worker per replica"] = Demand.usual(
        SIZES[1], workers=1, hash_points=points
    )
    shown = f"![{PLOT_TITLE}](pictures/{PICTURE.name})"
    return f"{fleet_table(figures, demands)}\n\n{shown}"


def fleet_table(figures: Figures, demands: dict[str, Demand]) -> str:
    """Return a column for each demand."""
    columns = []
    for demand in demands.values():
        cells = fleet_limits.cells(figures, demand)
        columns.append(fleet_cells(plan(figures, demand), figures, cells))
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return render.table(["", *demands], rows)


def fleet_cells(fleet: Fleet, figures: Figures, cells: int) -> dict[str, str]:
    demand, load = fleet.demand, fleet.load
    return {
        "keys in use": f"{demand.keys:,.0f}",
        "replicas, one of them spare": f"{fleet.replicas:,}",
        "workers and cores of each": f"{demand.workers}",
        "memory of a replica": size(fleet.replica_bytes),
        "HAProxy machines of 8 cores, one spare": f"{fleet.balancers:,}",
        "memory of HAProxy for idle connections": size(fleet.balancer_bytes),
        "PostgreSQL: statements per second": f"{load.statements:,.0f}",
        "PostgreSQL: rows per second": f"{load.rows:,.0f}",
        "PostgreSQL: cores": number(fleet.database_cores),
        "PostgreSQL: write-ahead log": f"{size(load.wal_bytes)}/s",
        "databases that this needs": f"{cells:,}",
        "network to clients, in and out": f"{bits(fleet.bits_in)}, "
        f"{bits(fleet.bits_out)}",
        "log of HAProxy": f"{size(demand.rate * figures.log_bytes)}/s",
        "usage: new rows per day": f"{fleet.usage_rows_per_day:,.0f}",
        f"usage after {fleet_model.SETTINGS.usage_days} days": size(fleet.usage_bytes),
        "journals": size(fleet.journal_bytes),
        "a change is noticed within": f"{fleet.noticed_seconds:.2g} s",
    }


def environment(found: Row) -> str:
    machine, others = found["machine"], found["others_share"]
    warning = BUSY_MACHINE if others > QUIET_SHARE else ""
    return (
        f"Measured on {found['date'][:10]}: {machine['cpu']}, {machine['cores']} "
        f"cores, {machine['memory_gib']} GiB, {machine['system']}, Linux "
        f"{machine['kernel']}, Python {machine['python']}. Meanwhile, other programs "
        f"kept {others:.2f} cores busy.{warning}"
    )


def costs(found: Row) -> str:
    """Return the table of everything that was measured."""
    rows = [*_request_costs(found), *_database_costs(found), *_sizes(found)]
    return render.table(["work", "CPU or size", "how it was measured"], rows)


def _request_costs(found: Row) -> list[list[str]]:
    handshake, tls = found["handshake"], found["tls_request"]
    checks, each = found["checks"], "one replica, one balancer, no requests"
    http, http2 = found["balancer_http"], found["balancer_http2"]
    per_new_connection = 1 / goals.efficiency(
        _goals().traffic("readback", NEW_CONNECTIONS)
    )
    return [
        *_curve("a request, worker", found["request"]),
        ["a request over TLS, worker", _each(tls["cpu"]), "full load"],
        [
            "a request on a new connection, worker",
            _each(per_new_connection),
            "`make bench`, another run",
        ],
        *_curve("a request, HAProxy, HTTP/1.1", http),
        *_curve("a request, HAProxy, HTTP/2 over TLS", http2),
        [
            "a new TLS connection, HAProxy",
            micro(handshake["cpu"]),
            f"{handshake['connections']} full handshakes",
        ],
        ["health checks per second, HAProxy", micro(checks["balancer_cpu"]), each],
        ["health checks per second, worker", micro(checks["worker_cpu"]), each],
    ]


def _row_costs(found: Row) -> dict[str, tuple[Row, str]]:
    """Return the costs of a row in transactions of different sizes."""
    measured = [found[name] for name in ("row", "few_rows") if name in found]
    return {
        f"a row, {row['keys']} of them in a transaction": (
            row,
            f"{row['rows']:,.0f} rows, {_per_second(row)}",
        )
        for row in measured
    }


def _database_costs(found: Row) -> list[list[str]]:
    idle, known = found["idle"], found["known_key"]
    look_up = found["look_up"]
    keys_each = look_up["keys"] / look_up["statements"]
    work = {
        "an idle worker, per second": (idle, _per_second(idle)),
        "a known key and round": (
            known,
            f"{known['keys']:,} keys without requests: {known['rounds']:.2f} rounds, "
            + _per_second(known),
        ),
        **_row_costs(found),
        "a look-up": (
            look_up,
            f"{look_up['per_second']:,.0f} per second, {keys_each:.0f} keys in a "
            "statement; one statement if alone",
        ),
    }
    return [
        [f"{name}, {part}", micro(figures[f"{kind}_cpu"]), how]
        for name, (figures, how) in work.items()
        for part, kind in (("worker", "worker"), ("PostgreSQL", "database"))
    ]


def _sizes(found: Row) -> list[list[str]]:
    sizes, idle = found["sizes"], found["idle"]
    per_connection = 1024 * goals.kib_per_idle_connection(_goals())
    both = "{:.0f} and {:.0f} bytes"
    return [
        ["memory of a worker", size(idle["bytes"]), "with its master (PSS)"],
        ["memory of a known key", size(sizes["known_key"]), "in each worker"],
        [
            "memory of an idle connection, worker",
            size(per_connection),
            "`make bench`, another run",
        ],
        [
            "memory of an idle TLS connection, HAProxy",
            size(sizes["balancer_connection"]),
            "after one request",
        ],
        [
            "a request and its response",
            both.format(sizes["request"], sizes["response"]),
            "50-byte text, HTTP/1.1",
        ],
        ["a line in HAProxy's log", f"{sizes['log']:.0f} bytes", "as shipped"],
        [
            "a row of usage and of a journal",
            both.format(sizes["usage_row"], sizes["journal_row"]),
            "on disk with indexes, without dead rows",
        ],
        [
            "a row in the write-ahead log",
            f"{found['row']['wal_bytes']:.0f} bytes",
            "`pg_current_wal_insert_lsn`",
        ],
    ]


def check(fleets: Sequence[Row]) -> str:
    """Return predicted and measured work, and the deviation of the prediction."""
    rows = [
        [
            f"{fleet['replicas']} × {fleet['workers']}",
            title,
            format(factor * fleet["predicted"][name], digits),
            format(factor * fleet["measured"][name], digits),
            deviation(fleet["predicted"][name], fleet["measured"][name]),
        ]
        for fleet in fleets
        for name, (title, factor, digits) in MEASURED.items()
    ]
    heads = ["replicas × workers", "figure", "predicted", "measured", "deviation"]
    load = ", ".join(
        f"{fleet['replicas']} × {fleet['workers']}: {fleet['rate']:,.0f} requests per "
        f"second with {fleet['keys']:,} keys"
        for fleet in fleets
    )
    return f"{load}.\n\n{render.table(heads, rows)}"


def limits(figures: Figures) -> str:
    """Return what is reached at which rate, the first limit first."""
    points = hash_points()
    reached = {
        name: fleet_limits.largest_rate(figures, name, hash_points=points)
        for name in NEXT_STEPS
    }
    fleets = [plan(figures, Demand.usual(rate, hash_points=points)) for rate in SIZES]
    shares = [{each.name: each.share for each in limits_of(fleet)} for fleet in fleets]
    rows = [
        [
            name,
            "never" if reached[name] == inf else f"{render.rounded(reached[name])}/s",
            *(f"{number(100 * share[name])} %" for share in shares),
            NEXT_STEPS[name],
        ]
        for name in sorted(NEXT_STEPS, key=lambda name: reached[name])
    ]
    heads = ["limit", "reached at", *(f"used at {rate:,}/s" for rate in SIZES), "then"]
    return render.table(heads, rows)


def picture(figures: Figures) -> str:
    rates = [10 ** (step / 4) for step in range(12, 33)]
    points = hash_points()
    fleets = [plan(figures, Demand.usual(rate, hash_points=points)) for rate in rates]
    lines = {
        name: [(f.demand.rate, cores(f)) for f in fleets]
        for name, cores in LINES.items()
    }
    mark = fleet_limits.DATABASE_CORES * fleets[0].demand.utilisation
    return plots.curves(
        PLOT_TITLE, lines, mark, "one PostgreSQL with 32 cores, 60 % busy"
    )


def deviation(predicted: float, measured: float) -> str:
    return f"{100 * (predicted / measured - 1):+.0f} %" if measured else "–"


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def size(count: float) -> str:
    """Format a number of bytes."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:,.3g} TiB" if count < 1000 else f"{count:,.0f} TiB"


def bits(rate: float) -> str:
    for unit in ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"):
        if rate < 1000:
            return f"{rate:.3g} {unit}"
        rate /= 1000
    return f"{rate:.3g} Tbit/s"


def _curve(name: str, points: Sequence[Row]) -> list[list[str]]:
    *paced, full = points
    return [
        *([name, _each(p["cpu"]), f"{p['rate']:,.0f} per second"] for p in paced),
        [name, _each(full["cpu"]), f"full load, {full['rate']:,.0f} per second"],
    ]


def _per_second(figures: Row) -> str:
    return (
        f"{figures['statements']:.1f} statements and {figures['transactions']:.1f} "
        "transactions per second"
    )


def _each(cpu: float) -> str:
    return f"{micro(cpu)} ({render.rounded(1 / cpu)} per CPU-second)"


def _goals() -> goals.Measurements:
    return goals.Measurements(published=True)


def _published() -> Row:
    found = results.read("scale")
    if not found.get("fleets"):
        raise MeasurementError("Not measured yet: run `make bench ARGS=scale`.")
    return found
