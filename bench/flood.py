"""What a flood of made-up keys does to those who have a real one.

    python -m bench.flood [--postgresql] [--rate 20000] [--seconds 4] [--rounds 11]

A client asks some 1,000 times a second with a known key: alone, beside a flood of keys
with wrong checksums, which nobody looks up, and beside a flood of keys with right ones
that were never made, each of which must be looked up. The three take turns, round
after round, and medians are kept, in bench/results/flood.json and from there in
docs/performance.md. One worker has the first core. The floods, which are wrk, and the
client share the last, with PostgreSQL; the client goes first there, so that it measures
the server and not its neighbours. It is not wrk, whose pauses are whole milliseconds:
two of them keep in step, and the client would always ask together with the flood.
"""

import argparse
import json
import random
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from tests.support.load import models
from tests.support.metrics import metrics
from tests.support.server import Server
from tests.support.wire import Endpoint

from bench import proc, render, results
from bench.messages import mistyped
from bench.serving import POSTGRESQL, SQLITE, serving
from readback import keys

SCRIPT = Path(__file__).parent / "flood.lua"
ALONE, WRONG, RIGHT = "alone", "wrong checksums", "right checksums"
KNOWN_PAUSE = 0.0015  # seconds at the most, between two requests with the known key
# How long a connection of a flood pauses, in milliseconds, so that with its answer it
# has about as much time for one request as the number of connections gives it.
FLOOD_PAUSE = {WRONG: 19, RIGHT: 10}
FLOOD_TURN = 20
KEYS_IN_TURN = 20_000

Turn = dict[str, float]


def main() -> None:
    options = _options()
    kind = POSTGRESQL if options.postgresql else SQLITE
    kept = results.read("flood")
    with serving(kind) as (server, _), _keys() as files, proc.on_core(-1):
        kept[kind] = _measure(server, files, options)
    results.keep("flood", kept)
    render.put(render.PAGE, "flood", _table(kept))
    print(_table(kept))


def _measure(
    server: Server, files: dict[str, Path], options: argparse.Namespace
) -> dict[str, list[Turn]]:
    turns: dict[str, list[Turn]] = {name: [] for name in (ALONE, WRONG, RIGHT)}
    for number in range(1, options.rounds + 1):
        for name, done in turns.items():
            before, began = _statements(server), time.monotonic()
            with _flood(server, name, files.get(name), options) as answered:
                percentiles = _ask(server, options.seconds)
            seconds = time.monotonic() - began
            statements = (_statements(server) - before) / seconds
            done.append(
                {
                    **percentiles,
                    "floods_per_second": round(sum(answered)),
                    "statements_per_second": round(statements),
                }
            )
            print(f"round {number}, {name}: {done[-1]}", flush=True)
    return turns


def _statements(server: Server) -> float:
    return metrics(server.ops_url)["statements_total"]


def _ask(server: Server, seconds: int) -> dict[str, int]:
    """Ask with a known key; give percentiles in microseconds."""
    endpoint = Endpoint.of(server.base_url)
    raw = models(endpoint, server.api_key)
    taken: list[float] = []
    with (
        socket.create_connection((endpoint.host, endpoint.port)) as known,
        proc.going_first(),
    ):
        known.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            known.sendall(raw)
            answer = known.recv(4096)
            taken.append(time.perf_counter() - began)
            assert answer.startswith(b"HTTP/1.1 200 "), "the known key was refused"
            time.sleep(random.uniform(0, KNOWN_PAUSE))
    cuts = quantiles(taken, n=100)
    return {f"p{number}_us": round(cuts[number - 1] * 1e6) for number in (50, 90, 99)}


@contextmanager
def _flood(
    server: Server, name: str, made_up: Path | None, options: argparse.Namespace
) -> Iterator[list[float]]:
    """Pour made-up keys meanwhile; give how many a second were answered."""
    answered: list[float] = []
    if made_up is None:
        yield answered
        return
    connections = options.rate * FLOOD_TURN // 1000
    seconds = options.seconds + 1
    process = _start(server, made_up, connections, FLOOD_PAUSE[name], seconds)
    time.sleep(0.5)
    yield answered
    said = _wait(process)
    assert said["refused"] == said["requests"], "a made-up key was accepted"
    answered.append(said["requests"] / seconds)


def _start(
    server: Server, file: Path, connections: int, pause: int, seconds: int
) -> "subprocess.Popen[str]":
    command = ["wrk", "--threads", "1", "--connections", str(connections)]
    command += ["--duration", f"{seconds}s", "--script", str(SCRIPT)]
    command += [f"{server.base_url}/models", "--", str(pause), str(file)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _wait(process: "subprocess.Popen[str]") -> dict[str, int]:
    said, _ = process.communicate()
    result: dict[str, int] = json.loads(said.rpartition("RESULT ")[2])
    return result


@contextmanager
def _keys() -> Iterator[dict[str, Path]]:
    """Write the keys of each flood into a file, one in a line."""
    made_up = [keys.mint() for _ in range(KEYS_IN_TURN)]
    lines = {WRONG: map(mistyped, made_up), RIGHT: made_up}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in lines}
        for name, file in files.items():
            file.write_text("\n".join(lines[name]) + "\n")
        yield files


def _table(kept: dict[str, dict[str, list[Turn]]]) -> str:
    heads = ("database", "beside", "floods/s", "statements/s", "p50", "p90", "p99")
    rows = [
        [kind, name, *_cells(turns, alone=kept[kind][ALONE])]
        for kind in kept
        for name, turns in kept[kind].items()
    ]
    return render.table([*heads, "p99, of alone"], rows)


def _cells(turns: list[Turn], alone: list[Turn]) -> list[str]:
    def middle(figure: str, of: list[Turn] = turns) -> float:
        return median(turn[figure] for turn in of)

    return [
        f"{middle('floods_per_second'):,.0f}",
        f"{middle('statements_per_second'):,.0f}",
        *(render.milliseconds(middle(f"{p}_us")) for p in ("p50", "p90", "p99")),
        f"{middle('p99_us') / middle('p99_us', alone):.2f} ×",
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=11)
    return parser.parse_args()


if __name__ == "__main__":
    main()
