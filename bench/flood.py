"""What a flood of made-up keys does to the latency of a known key.

A client sends about 1,000 requests a second with a known key: without a flood, during a
flood of keys with invalid checksums, which are never looked up, and during a flood of
keys that have valid checksums but do not exist, each of which must be looked up. The
three alternate, round after round, and the medians are reported.

One worker runs on the first core. wrk, which sends the floods, and the client share the
last core with PostgreSQL. The client has priority there, so that it measures the server
and not its neighbours. The client is not wrk, because wrk's pauses are whole
milliseconds: two instances would fall into step, and the client would always send at
the same moment as the flood.
"""

import json
import random
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from tests.support.keys import mistyped
from tests.support.load import models
from tests.support.metrics import metrics
from tests.support.server import Server
from tests.support.wire import Endpoint

from bench import proc, render, results
from bench.errors import MeasurementError
from bench.install import require_program
from bench.progress import ProgressBar
from bench.single_worker import single_worker_server
from readback import keys

SCRIPT = Path(__file__).parent / "keys.lua"
NONE = "no flood"
INVALID = "invalid checksums"
VALID = "valid checksums"
# The longest pause between two requests with the known key, in seconds.
CLIENT_PAUSE = 0.0015
# Each connection of the flood sends one request per period, in milliseconds. Its pause
# is shorter than the period, because a response also takes time.
FLOOD_PERIOD = 20
FLOOD_PAUSE = {INVALID: 19, VALID: 10}
FLOOD_KEYS = 20_000

Row = dict[str, float]
FloodResults = dict[str, dict[str, list[Row]]]
"""The rounds by database and by kind of flood."""


@dataclass(frozen=True)
class FloodPlan:
    rate: int
    """Requests of the flood per second."""
    seconds: int
    rounds: int


FULL = FloodPlan(rate=20_000, seconds=4, rounds=11)
# Shows that the measurement works; its figures mean nothing.
QUICK = FloodPlan(rate=2_000, seconds=1, rounds=1)


def measure(
    database: str, plan: FloodPlan, published: bool, progress: ProgressBar
) -> FloodResults:
    """Measure with one kind of database; return the results of both kinds."""
    require_program("wrk", "wrk")
    progress.add_steps(1 + 3 * plan.rounds)
    progress.describe(f"starting Readback on {database}")
    with (
        single_worker_server(database) as (server, _),
        _key_files() as files,
        proc.on_core(-1),
    ):
        progress.finish_step()
        rows = _measure_rounds(server, files, plan, progress)
    found: FloodResults = results.read("flood", published) | {database: rows}
    results.write("flood", found, published)
    return found


def write_section() -> None:
    """Write the table into docs/performance.md."""
    found: FloodResults = results.read("flood")
    text = table(found) if found else render.NO_RESULTS
    render.replace_section(render.PAGE, "flood", text)


def table(found: FloodResults) -> str:
    heads = ["database", "flood", "flood requests/s", "statements/s"]
    heads += ["p50", "p90", "p99", "p99 relative to no flood"]
    rows = [
        [database, kind, *_cells(rows, without_flood=kinds[NONE])]
        for database, kinds in found.items()
        for kind, rows in kinds.items()
    ]
    return render.table(heads, rows)


def _measure_rounds(
    server: Server, files: dict[str, Path], plan: FloodPlan, progress: ProgressBar
) -> dict[str, list[Row]]:
    kinds: dict[str, list[Row]] = {NONE: [], INVALID: [], VALID: []}
    for number in range(1, plan.rounds + 1):
        for kind, rows in kinds.items():
            progress.describe(f"round {number}: {kind}")
            row = _measure_once(server, kind, files.get(kind), plan)
            rows.append(row)
            progress.finish_step(
                f"round {number}  {kind:<18} {row['flood_requests_per_second']:>7,.0f} "
                f"flood requests/s {row['statements_per_second']:>5,.0f} statements/s "
                f"p99 {row['p99_us'] / 1000:.2f} ms"
            )
    return kinds


def _measure_once(server: Server, kind: str, file: Path | None, plan: FloodPlan) -> Row:
    statements = _statements(server)
    started = time.monotonic()
    with _flood(server, kind, file, plan) as flood_rate:
        percentiles = _send_with_known_key(server, plan.seconds)
    seconds = time.monotonic() - started
    return {
        **percentiles,
        "flood_requests_per_second": round(sum(flood_rate)),
        "statements_per_second": round((_statements(server) - statements) / seconds),
    }


def _statements(server: Server) -> float:
    return metrics(server.ops_url)["statements_total"]


def _send_with_known_key(server: Server, seconds: int) -> dict[str, int]:
    """Send requests one by one; return percentiles in microseconds."""
    endpoint = Endpoint.of(server.base_url)
    request = models(endpoint, server.api_key)
    latencies: list[float] = []
    with (
        socket.create_connection((endpoint.host, endpoint.port)) as client,
        proc.real_time_priority(),
    ):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sent = time.perf_counter()
            client.sendall(request)
            response = client.recv(4096)
            latencies.append(time.perf_counter() - sent)
            if not response.startswith(b"HTTP/1.1 200 "):
                raise MeasurementError(f"the known key was refused: {response[:60]!r}")
            time.sleep(random.uniform(0, CLIENT_PAUSE))
    cuts = quantiles(latencies, n=100)
    return {f"p{number}_us": round(cuts[number - 1] * 1e6) for number in (50, 90, 99)}


@contextmanager
def _flood(
    server: Server, kind: str, file: Path | None, plan: FloodPlan
) -> Iterator[list[float]]:
    """Flood the server during the block; append the rate to the yielded list."""
    rate: list[float] = []
    if file is None:
        yield rate
        return
    seconds = plan.seconds + 1
    connections = plan.rate * FLOOD_PERIOD // 1000
    command = ["wrk", "--threads", "1", "--connections", str(connections)]
    command += ["--duration", f"{seconds}s", "--script", str(SCRIPT)]
    command += [f"{server.base_url}/models", "--", str(FLOOD_PAUSE[kind]), str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(0.5)
        yield rate
        output, _ = process.communicate()
    finally:
        process.kill()
        process.wait()
    result: dict[str, int] = json.loads(output.rpartition("RESULT ")[2])
    if result["refused"] != result["requests"]:
        raise MeasurementError("a made-up key was accepted")
    rate.append(result["requests"] / seconds)


@contextmanager
def _key_files() -> Iterator[dict[str, Path]]:
    """Write the keys of each flood into a file, one per line."""
    made_up = [keys.mint() for _ in range(FLOOD_KEYS)]
    lines = {INVALID: map(mistyped, made_up), VALID: made_up}
    with tempfile.TemporaryDirectory() as folder:
        files = {kind: Path(folder) / kind for kind in lines}
        for kind, file in files.items():
            file.write_text("\n".join(lines[kind]) + "\n")
        yield files


def _cells(rows: list[Row], without_flood: list[Row]) -> list[str]:
    def median_of(figure: str, of: list[Row] = rows) -> float:
        return median(row[figure] for row in of)

    return [
        f"{median_of('flood_requests_per_second'):,.0f}",
        f"{median_of('statements_per_second'):,.0f}",
        *(render.milliseconds(median_of(f"{p}_us")) for p in ("p50", "p90", "p99")),
        f"{median_of('p99_us') / median_of('p99_us', without_flood):.2f} ×",
    ]
