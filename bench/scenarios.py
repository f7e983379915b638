"""Measurements that the goals need in addition to the comparison of the peers.

Each scenario returns raw figures; `goals.py` evaluates them. Two servers that are
compared are measured alternately, as in the comparison.
"""

import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.authority import Authority
from tests.support.keys import mistyped

from bench import install, load, messages, proc, servers, traffic
from bench.errors import MeasurementError
from bench.load import LoadResult
from bench.messages import PIPELINED_REQUESTS, Request
from bench.peer import Peer, load_peers
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.servers import PeerServer
from readback import keys

Figures = dict[str, Any]
# Connections that are opened at once to see how two workers share them, and how often.
DISTRIBUTED_CONNECTIONS = 64
DISTRIBUTIONS = 30
# The servers that are measured with TLS, and the kinds of handshakes.
TLS_SERVERS = {
    "nginx": "nginx (constant response)",
    "go": "Go net/http",
    "readback": "**Readback**",
}
HANDSHAKES = {"full": "full handshake", "resumed": "resumed session"}


class Runner:
    """Starts the servers of a scenario and puts load on them."""

    def __init__(self, plan: Plan, progress: ProgressBar) -> None:
        self.plan = plan
        self.progress = progress
        self._keys: dict[str, list[str]] = {}

    @contextmanager
    def running(self, name: str, **options: Any) -> Iterator[PeerServer]:
        peer: Peer = load_peers()[name]
        if name not in self._keys:
            install.install(peer)
            self._keys[name] = servers.prepare(peer)
        with servers.running(peer, self._keys[name], **options) as server:
            yield server

    def warm_up(self, server: PeerServer, *requests: Request) -> None:
        self._load(server, requests, self.plan.warm_up_seconds)

    def load(self, server: PeerServer, *requests: Request) -> LoadResult:
        """Load a server; each request is repeated by a thread of its own."""
        return self._load(server, requests, self.plan.seconds)

    def _load(
        self, server: PeerServer, requests: Sequence[Request], seconds: float
    ) -> LoadResult:
        threads = len(requests)
        return load.wrk(server.port, requests, server.pids, seconds, threads=threads)

    def rounds(self) -> range:
        return range(self.plan.rounds)


def sizes(runner: Runner) -> Figures:
    """Measure the longest text, ASCII and Cyrillic, and nginx with equal constants."""
    texts = {"ascii": messages.LONG_ASCII, "cyrillic": messages.LONG_CYRILLIC}
    figures: Figures = {}
    for _ in runner.rounds():
        for script, text in texts.items():
            for name in ("nginx", "readback"):
                with runner.running(name, content=text) as server:
                    request = server.request(text)
                    runner.warm_up(server, request)
                    accepted = _accepted(runner.load(server, request))
                _append(figures, f"{name}_{script}", accepted)
    return figures


def workers(runner: Runner) -> Figures:
    """Measure one and two workers on all cores, and their shares of connections.

    With one key, both workers number the answers to it. With a key for each connection,
    no key is used by two workers.
    """
    figures: Figures = {"smaller_shares": []}
    for _ in runner.rounds():
        for count in (1, 2):
            settings = {"READBACK_WORKERS": str(count)}
            with runner.running("readback", settings=settings, core=None) as server:
                requests = traffic.many_clients(server.keys[: load.CONNECTIONS])
                for name, sent in (("", requests[:1]), ("_keys", requests)):
                    runner.warm_up(server, *sent)
                    loaded = _accepted(runner.load(server, *sent))
                    _append(figures, f"{count}{name}", loaded)
                if count == 2 and not figures["smaller_shares"]:
                    shares = [_smaller_share(server) for _ in range(DISTRIBUTIONS)]
                    figures["smaller_shares"] = shares
    return figures


def idle(runner: Runner) -> Figures:
    """Measure busy connections alone, then together with many idle ones."""
    figures: Figures = {"connections": runner.plan.idle_connections}
    for _ in runner.rounds():
        with runner.running("readback") as server:
            request = server.request()
            runner.warm_up(server, request)
            worker = proc.busiest(server.pids)
            _append(figures, "alone", _accepted(runner.load(server, request)))
            bytes_before = proc.resident_memory(worker)
            with _open_connections(server, runner.plan.idle_connections):
                grown = proc.resident_memory(worker) - bytes_before
                _append(figures, "bytes_each", grown / runner.plan.idle_connections)
                _append(figures, "with_idle", _accepted(runner.load(server, request)))
    return figures


def memory(runner: Runner) -> Figures:
    """Measure the memory of one worker after some requests and after very many."""
    figures: Figures = {"requests": [], "bytes": []}
    with runner.running("readback") as server:
        request, done = server.request(), 0
        for target in (runner.plan.few_requests, runner.plan.many_requests):
            while done < target:
                seconds = 1 if target == runner.plan.few_requests else 5
                done += load.wrk(server.port, [request], server.pids, seconds).requests
                runner.progress.describe(f"memory: {done:,} of {target:,} requests")
            figures["requests"].append(done)
            figures["bytes"].append(proc.resident_memory(proc.busiest(server.pids)))
    return figures


def refusals(runner: Runner) -> Figures:
    """Measure accepted and refused requests on persistent connections."""
    figures: Figures = {}
    for _ in runner.rounds():
        with runner.running("readback") as server:
            valid = server.request()
            runner.warm_up(server, valid)
            _append(figures, "accepted", _accepted(runner.load(server, valid)))
            for what, (status, invalid) in _invalid_requests(valid).items():
                actual, _ = servers.send(server.port, invalid)
                if actual != status:
                    raise MeasurementError(f"{what}: got {actual} instead of {status}")
                result = runner.load(server, invalid)
                if result.refused != result.requests:
                    raise MeasurementError(f"{what}: some requests were not refused")
                _append(figures, what, result.as_json())
    return figures


def tls(runner: Runner) -> Figures:
    """Measure a new TLS connection for every request."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        certificate = Authority(Path(folder)).issue("127.0.0.1")
        for _ in runner.rounds():
            for name in TLS_SERVERS:
                try:
                    _measure_tls(runner, name, certificate, figures)
                except MeasurementError as error:
                    if name != "go":  # it may not be installed
                        raise
                    figures["go_not_measured"] = str(error)
    return figures


def _measure_tls(
    runner: Runner, name: str, certificate: Path, figures: Figures
) -> None:
    with runner.running(name, certificate=certificate) as server:
        for kind in HANDSHAKES:
            for seconds in (runner.plan.warm_up_seconds, runner.plan.seconds):
                result = load.tls_connections(
                    server.port,
                    server.request(),
                    server.pids,
                    seconds,
                    resume=kind == "resumed",
                )
            _append(figures, f"{name}_{kind}", result)


def pipelined(runner: Runner) -> Figures:
    """Measure connections that send several requests at once."""
    figures: Figures = {"batch": PIPELINED_REQUESTS}
    plan = runner.plan
    for _ in runner.rounds():
        for name in ("nginx", "uvloop", "readback"):
            settings = {"BENCH_PIPELINED": "1"} if name == "uvloop" else None
            with runner.running(name, settings=settings) as server:
                request = server.request()
                for seconds in (plan.warm_up_seconds, plan.seconds):
                    result = load.wrk(
                        server.port, [request], server.pids, seconds, PIPELINED_REQUESTS
                    )
                _append(figures, name, _accepted(result))
    return figures


SCENARIOS: dict[str, Callable[[Runner], Figures]] = {
    "sizes": sizes,
    "workers": workers,
    "idle": idle,
    "memory": memory,
    "refusals": refusals,
    "tls": tls,
    "pipelined": pipelined,
}


def _invalid_requests(valid: Request) -> dict[str, tuple[int, Request]]:
    return {
        "401, a mistyped key": (401, valid.with_key(mistyped(valid.key))),
        "401, a made-up key": (401, valid.with_key(keys.mint())),
        "404, another path": (404, valid.with_path("/v1/responses")),
        "400, an unknown field": (400, valid.with_fields(temperature=0)),
    }


def _accepted(result: LoadResult) -> Figures:
    """Return the figures of a load; raise `MeasurementError` if a request failed."""
    if result.refused or result.broken:
        raise MeasurementError(
            f"of {result.requests} valid requests {result.refused} were refused and "
            f"{result.broken} failed"
        )
    return result.as_json()


def _append(figures: Figures, name: str, value: object) -> None:
    figures.setdefault(name, []).append(value)


def _smaller_share(server: PeerServer) -> int:
    """Open many connections at once; return how many the smaller of two workers has."""
    with _open_connections(server, DISTRIBUTED_CONNECTIONS):
        held = [proc.count_connections(pid, server.port) for pid in server.pids]
        return sorted(held)[-2]


@contextmanager
def _open_connections(server: PeerServer, count: int) -> Iterator[None]:
    """Keep connections open, each after one request."""
    request = server.request().to_bytes(server.port)
    connections: list[socket.socket] = []
    try:
        for _ in range(count):
            connections.append(socket.create_connection(("127.0.0.1", server.port), 10))
            connections[-1].sendall(request)
        for connection in connections:
            if not connection.recv(65536).startswith(b"HTTP/1.1 200"):
                raise MeasurementError(f"one of {count} connections was refused")
        yield
    finally:
        for connection in connections:
            connection.close()
