"""How the size of the table of keys affects a worker; it should not.

For each size a server with one worker is started on a new database with that number of
keys. Some of them are used for the first time, each of which needs a lookup. Then all
keys in use are sent in turn over four connections, as fast as responses arrive. The
sizes alternate, round after round. Measured are the requests per second of the worker's
CPU time (the median of the rounds) and the worker's private memory.
"""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.support.database import Database
from tests.support.load import models, pipeline, spread
from tests.support.server import Server
from tests.support.wire import Endpoint

from bench import proc, render, results
from bench.errors import MeasurementError
from bench.progress import ProgressBar
from bench.single_worker import single_worker_server
from readback import keys

KEYS_IN_USE = 500
# Looked up one after the other, at the low rate of normal operation.
FIRST_USES = 40
CONNECTIONS = 4
PICTURE = render.PICTURES / "growth.svg"

Point = dict[str, Any]
GrowthResults = dict[str, list[Point]]
"""One point per size, by database."""


@dataclass(frozen=True)
class GrowthPlan:
    sizes: tuple[int, ...]
    seconds: float
    rounds: int


FULL = GrowthPlan(sizes=(1_000, 100_000, 1_000_000), seconds=2.0, rounds=5)
# Shows that the measurement works; its figures mean nothing.
QUICK = GrowthPlan(sizes=(1_000, 2_000), seconds=0.5, rounds=1)


def measure(
    database: str, plan: GrowthPlan, published: bool, progress: ProgressBar
) -> GrowthResults:
    """Measure with one kind of database; return the results of both kinds."""
    progress.add_steps(len(plan.sizes) * (1 + plan.rounds))
    with ExitStack() as stack:
        sites = []
        for size in plan.sizes:
            progress.describe(f"starting Readback on {database} with {size:,} keys")
            server, url = stack.enter_context(single_worker_server(database))
            sites.append(Site(size, server, url))
            progress.finish_step()
        for number in range(1, plan.rounds + 1):
            for site in sites:
                progress.describe(f"round {number}: {site.size:,} keys")
                site.measure(plan.seconds)
                progress.finish_step(f"round {number}  {_line(site.point())}")
        points = [site.point() for site in sites]
    found: GrowthResults = results.read("growth", published) | {database: points}
    results.write("growth", found, published)
    return found


def write_section() -> None:
    """Write the table and the plot of docs/performance-loads.md."""
    found: GrowthResults = results.read("growth")
    if found:
        PICTURE.write_text(_picture(found), encoding="utf-8")
    picture = "![Throughput of one worker as keys grow](pictures/growth.svg)"
    text = f"{table(found)}\n\n{picture}" if found else render.NO_RESULTS
    render.replace_section(render.LOADS_PAGE, "growth", text)


def table(found: GrowthResults) -> str:
    heads = (
        "database",
        "keys in the table",
        "requests per CPU-second",
        "memory of the worker",
        "first use of a key, median",
    )
    rows = [
        [
            database,
            f"{point['keys']:,}",
            f"{point['requests_per_cpu_second']:,}",
            f"{point['memory_mib']} MiB",
            f"{point['first_use_ms']} ms",
        ]
        for database, points in found.items()
        for point in points
    ]
    return render.table(heads, rows)


class Site:
    """A server whose database has a given number of keys, and its measurements."""

    def __init__(self, size: int, server: Server, url: str) -> None:
        self.size = size
        used = [keys.mint() for _ in range(KEYS_IN_USE)]
        database = Database(url)
        account = database.add_account("alice@example.com")
        database.add_keys(account, used)
        _add_random_keys(database, account, size - KEYS_IN_USE)
        self._endpoint = Endpoint.of(server.base_url)
        self._requests = [models(self._endpoint, key) for key in used]
        self._first_uses: list[float] = []
        self._worker = self._use_for_the_first_time(server)
        self._rates: list[float] = []

    def measure(self, seconds: float) -> None:
        # Keys that have been idle for long are looked up again; that must not count.
        spread(self._endpoint, self._requests, CONNECTIONS)
        before = proc.cpu_seconds(self._worker)
        responses = _send_for(self._endpoint, self._requests, seconds)
        self._rates.append(responses / (proc.cpu_seconds(self._worker) - before))

    def point(self) -> Point:
        return {
            "keys": self.size,
            "requests_per_cpu_second": round(median(self._rates)),
            "memory_mib": round(proc.private_memory(self._worker) / 2**20, 1),
            "first_use_ms": round(1000 * median(self._first_uses), 1),
        }

    def _use_for_the_first_time(self, server: Server) -> int:
        """Use some keys for the first time; return the process id of the worker."""
        with self._endpoint.connect() as connection:
            for request in self._requests[:FIRST_USES]:
                sent = time.monotonic()
                connection.send(request)
                status = connection.read_answer().status
                self._first_uses.append(time.monotonic() - sent)
                if status != 200:
                    raise MeasurementError(f"a new key was refused with {status}")
            # The worker is the process that holds this connection.
            [worker] = [
                pid
                for pid in proc.process_tree(server.pid)
                if proc.count_connections(pid, self._endpoint.port)
            ]
        return worker


def _add_random_keys(database: Database, account: int, number: int) -> None:
    """Fill the table with digests that belong to no known key."""
    digest = "randomblob(32)" if database.is_sqlite else "sha256(n::text::bytea)"
    database.rows(
        "INSERT INTO cabinet_key (owner_id, label, digest, last_four, created_at)"
        " WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers"
        f" WHERE n < {number}) SELECT {account}, '', {digest}, 'abcd',"
        " CURRENT_TIMESTAMP FROM numbers"
    )


def _send_for(endpoint: Endpoint, requests: list[bytes], seconds: float) -> int:
    """Send the requests in turn until the time is up; count the responses."""
    deadline = time.monotonic() + seconds

    def send(_: int) -> Counter[int]:
        counts: Counter[int] = Counter()
        while time.monotonic() < deadline:
            counts += pipeline(endpoint, requests)
        return counts

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        counts = sum(threads.map(send, range(CONNECTIONS)), Counter[int]())
    if counts.keys() != {200}:
        raise MeasurementError(f"known keys were refused: {dict(counts)}")
    return counts.total()


def _line(point: Point) -> str:
    return (
        f"{point['keys']:>9,} keys {point['requests_per_cpu_second']:>8,} "
        f"per CPU-second {point['memory_mib']:>6} MiB "
        f"first use {point['first_use_ms']} ms"
    )


def _picture(found: GrowthResults) -> str:
    """Plot the throughput over the number of keys; flat lines are the goal."""
    every_point = [point for points in found.values() for point in points]
    most = max(point["requests_per_cpu_second"] for point in every_point)
    parts = [
        '<text x="10" y="20" class="title">Requests per CPU second of a worker</text>',
        '<line x1="70" y1="220" x2="560" y2="220" class="axis"/>',
        f'<text x="8" y="54">{most:,}</text><text x="8" y="224">0</text>',
    ]
    for column, size in enumerate(FULL.sizes):
        parts.append(f'<text x="{100 + column * 200}" y="242">{size:,} keys</text>')
    for style, (database, points) in enumerate(found.items()):
        dots = [
            (130 + n * 200, 220 - 170 * p["requests_per_cpu_second"] / most)
            for n, p in enumerate(points)
        ]
        line = " ".join(f"{x:.0f},{y:.1f}" for x, y in dots)
        parts.append(f'<polyline class="line{style}" points="{line}"/>')
        x, y = dots[-1]
        parts.append(
            f'<text x="{x + 12:.0f}" y="{y + 4 + 16 * style:.0f}">{database}</text>'
        )
    return f"{_SVG_HEAD}\n" + "\n".join(parts) + "\n</svg>\n"


_SVG_HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 260" role="img">
<title>Throughput of one worker as the table of keys grows</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; }
.axis { stroke: #d1d9e0; }
polyline { fill: none; stroke-width: 3; }
.line0 { stroke: #0b6e4f; }
.line1 { stroke: #59636e; stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .axis { stroke: #3d444d; }
  .line0 { stroke: #4cc38a; } .line1 { stroke: #9198a1; }
}
</style>"""
