"""What a flood of made-up keys does to those who have a real one.

    python -m bench.flood [--rate 20000] [--seconds 3] [--rounds 9]

One client asks some 500 times a second with a known key: alone, beside a flood of keys
with wrong checksums, which nobody looks up, and beside a flood of keys with right ones
that were never made, each of which must be looked up. The three take turns, round
after round, and medians are shown. One worker has the first core. The floods and the
client, both wrk, share the last; the floods run only when the client does not, so that
it measures the server and not its neighbour.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from tests.support.metrics import metrics
from tests.support.server import UNLIMITED, Server, ephemeral_server

from bench import proc
from readback import keys

SCRIPT = Path(__file__).parent / "flood.lua"
KNOWN_PAUSE = 2  # milliseconds: some 500 requests a second
# How long a connection of a flood pauses, in milliseconds, so that with its answer it
# has about as much time for one request as the number of connections gives it.
FLOOD_PAUSE = {"wrong checksums": 19, "right checksums": 10}
FLOOD_TURN = 20
KEYS_IN_TURN = 20_000


def main() -> None:
    options = _options()
    settings = {**UNLIMITED, "READBACK_WORKERS": "1"}
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder = Path(name)
        with proc.on_core(0):
            serving = ephemeral_server(folder, settings)
            server = running.enter_context(serving)
        files = _write_keys(folder, server.api_key)
        with proc.on_core(-1):
            _report(server, files, options)


def _report(
    server: Server, files: dict[str, Path], options: argparse.Namespace
) -> None:
    slowest: dict[str, list[int]] = {"alone": [], **{name: [] for name in FLOOD_PAUSE}}
    for number in range(1, options.rounds + 1):
        slowest["alone"].append(_ask(server, files["known"], options.seconds))
        print(f"round {number}  alone: p99 {slowest['alone'][-1]:,} µs", flush=True)
        for name in FLOOD_PAUSE:
            before = metrics(server.ops_url)["statements_total"]
            with _flood(server, name, files[name], options) as answered:
                slowest[name].append(_ask(server, files["known"], options.seconds))
            after = metrics(server.ops_url)["statements_total"]
            print(
                f"round {number}  {name}: p99 {slowest[name][-1]:,} µs; "
                f"{answered[0]:,.0f} floods and "
                f"{(after - before) / (options.seconds + 1):,.0f} statements a second",
                flush=True,
            )
    alone = median(slowest.pop("alone"))
    print(f"alone: median p99 {alone:,.0f} µs")
    for name, values in slowest.items():
        print(
            f"{name}: median p99 {median(values):,.0f} µs, "
            f"{median(values) / alone:.2f} times that without"
        )


def _ask(server: Server, known: Path, seconds: int) -> int:
    """Ask with a known key; give the 99th percentile in microseconds."""
    said = _wait(_start(server, known, 1, KNOWN_PAUSE, seconds))
    assert not said["refused"], "the known key was refused"
    return said["p99"]


@contextmanager
def _flood(
    server: Server, name: str, made_up: Path, options: argparse.Namespace
) -> Iterator[list[float]]:
    """Pour made-up keys meanwhile; give how many a second were answered."""
    answered: list[float] = []
    connections = options.rate * FLOOD_TURN // 1000
    seconds = options.seconds + 1
    process = _start(server, made_up, connections, FLOOD_PAUSE[name], seconds)
    os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))
    time.sleep((seconds - options.seconds) / 2)
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


def _write_keys(folder: Path, known: str) -> dict[str, Path]:
    made_up = [keys.mint() for _ in range(KEYS_IN_TURN)]
    lines = {
        "known": [known],
        "wrong checksums": [_spoiled(key) for key in made_up],
        "right checksums": made_up,
    }
    files = {name: folder / name for name in lines}
    for name, file in files.items():
        file.write_text("\n".join(lines[name]) + "\n")
    return files


def _spoiled(key: str) -> str:
    return key[:-1] + ("0" if key[-1] != "0" else "1")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    return parser.parse_args()


if __name__ == "__main__":
    main()
