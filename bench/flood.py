"""What a flood of made-up keys does to those who have a real one.

    python -m bench.flood [--rate 20000] [--seconds 5] [--workers 2]

One client asks 200 times a second with a known key: alone; beside a flood of keys with
wrong checksums, which nobody looks up; and beside a flood of keys with right ones that
were never made, each of which must be looked up. The floods come from a process of its
own on this machine and take CPU from the server. What looking up costs is the
difference between the two floods; each line says how fast the flood really was.
"""

import argparse
import multiprocessing
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.load import models
from tests.support.metrics import metrics
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.wire import Endpoint

from readback import keys

KNOWN_RATE = 200
WARM_SECONDS = 1.0
# Enough for 20,000 a second, though each waits some milliseconds to be looked up.
CONNECTIONS = 512


def main() -> None:
    options = _options()
    settings = {**UNLIMITED, "READBACK_WORKERS": str(options.workers)}
    with (
        tempfile.TemporaryDirectory() as folder,
        ephemeral_server(Path(folder), settings) as server,
    ):
        _measure(server, WARM_SECONDS)  # the key is known, the processor awake
        quiet = _measure(server, options.seconds)
        print(f"alone:           {_said(quiet)}")
        for name, mend in (("wrong checksums", _spoil), ("right checksums", str)):
            with _Flood(server, options, mend) as flood:
                _measure(server, WARM_SECONDS)  # its connections are being opened
                before = metrics(server.ops_url)["statements_total"]
                answers = flood.answers
                flooded = _measure(server, options.seconds)
                answers = flood.answers - answers
            statements = metrics(server.ops_url)["statements_total"] - before
            ratio = _quantile(flooded, 0.99) / _quantile(quiet, 0.99)
            print(
                f"{name}: {_said(flooded)}, {ratio:.1f} times; "
                f"{answers / options.seconds:,.0f} answers and "
                f"{statements / options.seconds:,.0f} statements a second"
            )


def _measure(server: Server, seconds: float) -> list[float]:
    """Ask at a steady rate; give the seconds from when each request was due."""
    endpoint = Endpoint.of(server.base_url)
    raw = models(endpoint, server.api_key)
    taken = []
    with endpoint.connect() as connection:
        began = time.monotonic()
        for number in range(int(KNOWN_RATE * seconds)):
            due = began + number / KNOWN_RATE
            time.sleep(max(0.0, due - time.monotonic()))
            connection.send(raw)
            assert connection.read_answer().status == 200
            taken.append(time.monotonic() - due)
    return taken


class _Flood:
    """A process that asks with a new made-up key each time, at a rate."""

    def __init__(
        self, server: Server, options: argparse.Namespace, mend: Callable[[str], str]
    ) -> None:
        self._ready = multiprocessing.Event()
        self._counted = multiprocessing.Value("q", 0)
        self._process = multiprocessing.Process(
            target=self._pour, args=(Endpoint.of(server.base_url), options, mend)
        )

    def __enter__(self) -> "_Flood":
        self._process.start()
        self._ready.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.join()

    @property
    def answers(self) -> int:
        return int(self._counted.value)

    def _pour(
        self,
        endpoint: Endpoint,
        options: argparse.Namespace,
        mend: Callable[[str], str],
    ) -> None:
        number = int(options.rate * (options.seconds + 2 * WARM_SECONDS))
        flood = [models(endpoint, mend(keys.mint())) for _ in range(number)]
        address = (endpoint.host, endpoint.port)
        crowd = [socket.create_connection(address) for _ in range(CONNECTIONS)]
        self._ready.set()
        began = time.monotonic()
        for number, raw in enumerate(flood):
            member = crowd[number % CONNECTIONS]
            if number % 16 == 0:
                due = began + number / options.rate
                time.sleep(max(0.0, due - time.monotonic()))
            if number >= CONNECTIONS:
                assert member.recv(65536).startswith(b"HTTP/1.1 401")
                self._counted.value += 1
            member.sendall(raw)


def _spoil(key: str) -> str:
    return key[:-1] + ("0" if key[-1] != "0" else "1")


def _quantile(values: Sequence[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


def _said(values: Sequence[float]) -> str:
    p50, p99 = (1e6 * _quantile(values, part) for part in (0.5, 0.99))
    return f"p50 {p50:6,.0f} µs, p99 {p99:6,.0f} µs"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
