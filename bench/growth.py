"""How a worker fares as the table of keys grows: it should not notice.

    python -m bench.growth [--postgresql] [--seconds 2] [--rounds 5]

For each size a server with one worker is started on a new database with so many keys.
Five hundred of them are used for the first time (each is looked up), then asked with
for a few seconds over four connections, as fast as answers come; the sizes take turns,
round after round. Counted are requests per second of the worker's CPU time (the median
of the rounds) and the worker's own memory. Writes bench/results/growth.json, and from
it the table and the picture in docs/performance.md.
"""

import argparse
import threading
import time
from contextlib import ExitStack
from statistics import median
from typing import Any

from tests.support.database import Database
from tests.support.load import models, pipeline, spread
from tests.support.processes import api_workers
from tests.support.server import Server
from tests.support.wire import Endpoint

from bench import render, results
from bench.serving import POSTGRESQL, SQLITE, serving
from readback import keys

SIZES = (1_000, 100_000, 1_000_000)
USED = 500
# Looked up one after the other, as few as come at an ordinary time.
ALONE = 40
CONNECTIONS = 4
PICTURE = render.PICTURES / "growth.svg"

Point = dict[str, Any]


def main() -> None:
    options = _options()
    kind = POSTGRESQL if options.postgresql else SQLITE
    with ExitStack() as running:
        sites = [Site(size, *running.enter_context(serving(kind))) for size in SIZES]
        for number in range(options.rounds):
            for site in sites:
                site.measure(options.seconds)
                print(f"round {number + 1}:", *_row(kind, site.point()), flush=True)
        points = [site.point() for site in sites]
    kept = results.read("growth") | {kind: points}
    results.keep("growth", kept)
    render.put(render.PAGE, "growth", _table(kept))
    PICTURE.write_text(_picture(kept))


class Site:
    """A server whose database has so many keys, and what was measured there."""

    def __init__(self, size: int, server: Server, url: str) -> None:
        used = [keys.mint() for _ in range(USED)]
        database = Database(url)
        account = database.add_account("alice@example.com")
        database.add_keys(account, used)
        _fill(database, account, size - USED)
        self._size = size
        self._endpoint = Endpoint.of(server.base_url)
        self._raws = [models(self._endpoint, key) for key in used]
        self._first = _first_uses(self._endpoint, self._raws[:ALONE])
        [self._worker] = api_workers(server)
        self._rates: list[float] = []

    def measure(self, seconds: float) -> None:
        # Those who have been quiet for long are looked up again, before it counts.
        spread(self._endpoint, self._raws, CONNECTIONS)
        before = sum(self._worker.cpu_times()[:2])
        answers = _ask(self._endpoint, self._raws, seconds)
        self._rates.append(answers / (sum(self._worker.cpu_times()[:2]) - before))

    def point(self) -> Point:
        return {
            "keys": self._size,
            "requests_per_cpu_second": round(median(self._rates)),
            "memory_mib": round(self._worker.memory_full_info().uss / 2**20, 1),
            "first_use_ms": round(1000 * median(self._first), 1),
        }


def _fill(database: Database, account: int, number: int) -> None:
    """Add keys that nobody has."""
    digest = "randomblob(32)" if database.is_sqlite else "sha256(n::text::bytea)"
    database.rows(
        "INSERT INTO cabinet_key (owner_id, label, digest, last_four, created_at)"
        " WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers"
        f" WHERE n < {number}) SELECT {account}, '', {digest}, 'abcd',"
        " CURRENT_TIMESTAMP FROM numbers"
    )


def _first_uses(endpoint: Endpoint, raws: list[bytes]) -> list[float]:
    """Use each key for the first time; give how long each took."""
    taken = []
    with endpoint.connect() as connection:
        for raw in raws:
            began = time.monotonic()
            connection.send(raw)
            assert connection.read_answer().status == 200
            taken.append(time.monotonic() - began)
    return taken


def _ask(endpoint: Endpoint, raws: list[bytes], seconds: float) -> int:
    """Ask with all keys in turn for so long; give the number of answers."""
    deadline, answers = time.monotonic() + seconds, [0] * CONNECTIONS

    def ask(number: int) -> None:
        while time.monotonic() < deadline:
            counts = pipeline(endpoint, raws)
            assert set(counts) == {200}
            answers[number] += counts.total()

    threads = [threading.Thread(target=ask, args=[n]) for n in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(answers)


def _row(kind: str, point: Point) -> list[str]:
    return [
        kind,
        f"{point['keys']:,}",
        f"{point['requests_per_cpu_second']:,}",
        f"{point['memory_mib']}",
        f"{point['first_use_ms']}",
    ]


def _table(kept: dict[str, list[Point]]) -> str:
    heads = (
        "database",
        "keys in the table",
        "requests per CPU-second",
        "memory of the worker, MiB",
        "first use of a key, median ms",
    )
    rows = [_row(kind, point) for kind, points in kept.items() for point in points]
    picture = "![Throughput of one worker as keys grow](pictures/growth.svg)"
    return f"{render.table(heads, rows)}\n\n{picture}"


def _picture(kept: dict[str, list[Point]]) -> str:
    """Draw the throughput over the number of keys: flat lines are what we want."""
    most = max(p["requests_per_cpu_second"] for points in kept.values() for p in points)
    parts = [
        '<text x="10" y="20" class="title">Requests per CPU second of a worker</text>',
        '<line x1="70" y1="220" x2="560" y2="220" class="axis"/>',
        f'<text x="8" y="54">{most:,}</text><text x="8" y="224">0</text>',
    ]
    for column, size in enumerate(SIZES):
        parts.append(f'<text x="{100 + column * 200}" y="242">{size:,} keys</text>')
    for shade, (kind, points) in enumerate(kept.items()):
        spots = [
            (130 + n * 200, 220 - 170 * p["requests_per_cpu_second"] / most)
            for n, p in enumerate(points)
        ]
        line = " ".join(f"{x:.0f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline class="line{shade}" points="{line}"/>')
        x, y = spots[-1]
        parts.append(
            f'<text x="{x + 12:.0f}" y="{y + 4 + 16 * shade:.0f}">{kind}</text>'
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


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
