"""What a flood of made-up keys does to those who have a real one.

    python -m bench.flood [--postgresql] [--rate 20000] [--seconds 4] [--rounds 11]

A client asks some 1,000 times a second with a known key: alone, beside a flood of keys
with wrong checksums, which nobody looks up, and beside a flood of keys with right ones
that were never made, each of which must be looked up. The three take turns, round
after round, and medians are kept, in bench/results/flood.json and from there in
docs/performance.md. One worker has the first core. The floods and the client, both
wrk, share the last, with PostgreSQL; the client goes first there, so that it measures
the server and not its neighbours.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.support.metrics import metrics
from tests.support.server import Server

from bench import proc, render, results
from bench.serving import POSTGRESQL, SQLITE, serving
from readback import keys

SCRIPT = Path(__file__).parent / "flood.lua"
ALONE, WRONG, RIGHT = "alone", "wrong checksums", "right checksums"
# Two connections that pause for two milliseconds: some 1,000 requests a second.
KNOWN_CONNECTIONS, KNOWN_PAUSE = 2, 2
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
    with (
        serving(kind) as (server, _),
        _keys(server.api_key) as files,
        proc.on_core(-1),
    ):
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
            with _flood(server, name, files[name], options) as answered:
                p99 = _ask(server, files[ALONE], options.seconds)
            seconds = time.monotonic() - began
            statements = (_statements(server) - before) / seconds
            done.append(
                {
                    "p99_us": p99,
                    "floods_per_second": round(sum(answered)),
                    "statements_per_second": round(statements),
                }
            )
            print(f"round {number}, {name}: {done[-1]}", flush=True)
    return turns


def _statements(server: Server) -> float:
    return metrics(server.ops_url)["statements_total"]


def _ask(server: Server, known: Path, seconds: int) -> int:
    """Ask with a known key; give the 99th percentile in microseconds."""
    said = _wait(
        _start(server, known, KNOWN_CONNECTIONS, KNOWN_PAUSE, seconds, proc.go_first)
    )
    assert not said["refused"], "the known key was refused"
    return said["p99"]


@contextmanager
def _flood(
    server: Server, name: str, made_up: Path, options: argparse.Namespace
) -> Iterator[list[float]]:
    """Pour made-up keys meanwhile; give how many a second were answered."""
    answered: list[float] = []
    if name == ALONE:
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
    server: Server,
    file: Path,
    connections: int,
    pause: int,
    seconds: int,
    before: Callable[[], None] | None = None,
) -> "subprocess.Popen[str]":
    command = ["wrk", "--threads", "1", "--connections", str(connections)]
    command += ["--duration", f"{seconds}s", "--script", str(SCRIPT)]
    command += [f"{server.base_url}/models", "--", str(pause), str(file)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=before
    )


def _wait(process: "subprocess.Popen[str]") -> dict[str, int]:
    said, _ = process.communicate()
    result: dict[str, int] = json.loads(said.rpartition("RESULT ")[2])
    return result


@contextmanager
def _keys(known: str) -> Iterator[dict[str, Path]]:
    """Write the keys of each turn into a file, one in a line."""
    made_up = [keys.mint() for _ in range(KEYS_IN_TURN)]
    lines = {ALONE: [known], WRONG: map(_spoiled, made_up), RIGHT: made_up}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in lines}
        for name, file in files.items():
            file.write_text("\n".join(lines[name]) + "\n")
        yield files


def _spoiled(key: str) -> str:
    return key[:-1] + ("0" if key[-1] != "0" else "1")


def _table(kept: dict[str, dict[str, list[Turn]]]) -> str:
    heads = ("database", "beside", "floods/s", "statements/s", "p99", "of alone")
    rows = [
        [kind, name, *_cells(turns, alone=kept[kind][ALONE])]
        for kind in kept
        for name, turns in kept[kind].items()
    ]
    return render.table(heads, rows)


def _cells(turns: list[Turn], alone: list[Turn]) -> list[str]:
    def middle(of: list[Turn], figure: str) -> Any:
        return median(turn[figure] for turn in of)

    p99 = middle(turns, "p99_us")
    return [
        f"{middle(turns, 'floods_per_second'):,.0f}",
        f"{middle(turns, 'statements_per_second'):,.0f}",
        render.milliseconds(p99),
        f"{p99 / middle(alone, 'p99_us'):.2f} ×",
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
