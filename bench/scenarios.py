"""What the goals need beyond the rounds of the peers: sizes, workers, crowds, time.

Each scenario measures and gives raw figures; what they mean is decided in `goals.py`.
Two things that are compared are measured in turns, as in the rounds.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import load, messages, proc, roster, servers
from bench.display import Display
from bench.load import Load
from bench.messages import Request, mistyped
from bench.pace import Pace
from bench.roster import Absent, Peer
from bench.servers import Server
from readback import keys

Figures = dict[str, Any]
# Enough that an uneven share between two workers is not chance.
CROWD = 64


@dataclass
class Stage:
    """What a scenario works with."""

    pace: Pace
    display: Display

    def __post_init__(self) -> None:
        self._keys: dict[str, str] = {}

    @contextmanager
    def running(self, name: str, **options: Any) -> Iterator[Server]:
        peer: Peer = roster.load()[name]
        if name not in self._keys:
            roster.install(peer)
            self._keys[name] = servers.prepare(peer)
        with servers.running(peer, self._keys[name], **options) as server:
            yield server

    def warm(self, server: Server, request: Request) -> None:
        load.wrk(server.port, request, server.pids, self.pace.warm_seconds)

    def load(self, server: Server, request: Request) -> Load:
        return load.wrk(server.port, request, server.pids, self.pace.seconds)

    def rounds(self) -> range:
        return range(self.pace.rounds)


def sizes(stage: Stage) -> Figures:
    """The longest text, in one and in two bytes a letter, beside constants as long."""
    texts = {"ascii": messages.LONG_ASCII, "cyrillic": messages.LONG_CYRILLIC}
    figures: Figures = {}
    for _ in stage.rounds():
        for script, text in texts.items():
            for name in ("nginx", "readback"):
                with stage.running(name, content=text) as server:
                    request = server.request(text)
                    stage.warm(server, request)
                    measured = _accepted(stage.load(server, request))
                _append(figures, f"{name}_{script}", measured)
    return figures


def workers(stage: Stage) -> Figures:
    """One worker and two, on all cores; and how many connections each of them got."""
    figures: Figures = {}
    for _ in stage.rounds():
        for count in (1, 2):
            settings = {"READBACK_WORKERS": str(count)}
            with stage.running("readback", settings=settings, core=None) as server:
                request = server.request()
                stage.warm(server, request)
                shares = _shares(server, count)
                measured = _accepted(stage.load(server, request))
            _append(figures, str(count), measured | {"connections": shares})
    return figures


def idle(stage: Stage) -> Figures:
    """Many connections that have been used once and stay open, beside busy ones."""
    figures: Figures = {"connections": stage.pace.idle_connections}
    for _ in stage.rounds():
        with stage.running("readback") as server:
            request = server.request()
            stage.warm(server, request)
            worker = proc.busiest(server.pids)
            _append(figures, "before", _accepted(stage.load(server, request)))
            bytes_before = proc.resident(worker)
            with _crowd(server, stage.pace.idle_connections):
                grown = proc.resident(worker) - bytes_before
                each = grown / stage.pace.idle_connections
                _append(figures, "bytes_each", each)
                _append(figures, "beside", _accepted(stage.load(server, request)))
    return figures


def growth(stage: Stage) -> Figures:
    """The memory of one worker after some requests and after very many."""
    figures: Figures = {"requests": [], "bytes": []}
    with stage.running("readback") as server:
        request, done = server.request(), 0
        for target in (stage.pace.few_requests, stage.pace.many_requests):
            while done < target:
                seconds = 1 if target == stage.pace.few_requests else 5
                done += load.wrk(server.port, request, server.pids, seconds).requests
                stage.display.begin(f"growth: {done:,} requests of {target:,}")
            figures["requests"].append(done)
            figures["bytes"].append(proc.resident(proc.busiest(server.pids)))
    return figures


def refusals(stage: Stage) -> Figures:
    """Requests that are refused, beside accepted ones, on kept-alive connections."""
    figures: Figures = {}
    for _ in stage.rounds():
        with stage.running("readback") as server:
            right = server.request()
            stage.warm(server, right)
            _append(figures, "accepted", _accepted(stage.load(server, right)))
            for what, (status, wrong) in _wrong_requests(right).items():
                came, _ = servers.ask(server.port, wrong)
                if came != status:
                    raise Absent(f"{what} gives {came}, not {status}")
                measured = stage.load(server, wrong)
                if measured.refused != measured.requests:
                    raise Absent(f"not every request with {what} was refused")
                _append(figures, what, measured.as_json())
    return figures


def fresh(stage: Stage) -> Figures:
    """A new connection for every request."""
    figures: Figures = {}
    for _ in stage.rounds():
        for name in ("nginx", "readback"):
            with stage.running(name) as server:
                request = server.request().but(close=True)
                stage.warm(server, request)
                _append(figures, name, _accepted(stage.load(server, request)))
    return figures


SCENARIOS: dict[str, Callable[[Stage], Figures]] = {
    each.__name__: each for each in (sizes, workers, idle, growth, refusals, fresh)
}


def _wrong_requests(right: Request) -> dict[str, tuple[int, Request]]:
    return {
        "401, a mistyped key": (401, right.but(key=mistyped(right.key))),
        "401, a made-up key": (401, right.but(key=keys.mint())),
        "404, another path": (404, right.but(path="/v1/responses")),
        "400, an unknown field": (400, right.but(extra_fields={"temperature": 0})),
    }


def _accepted(measured: Load) -> Figures:
    if measured.refused or measured.broken:
        came = f"{measured.refused} refused, {measured.broken} broken"
        raise Absent(f"of {measured.requests} right requests {came}")
    return measured.as_json()


def _append(figures: Figures, name: str, value: object) -> None:
    figures.setdefault(name, []).append(value)


def _shares(server: Server, count: int) -> list[int]:
    """Open many connections at once; give how many each of the workers took."""
    with _crowd(server, CROWD):
        held = map(partial(proc.connections, port=server.port), server.pids)
        return sorted(held, reverse=True)[:count]


@contextmanager
def _crowd(server: Server, count: int) -> Iterator[None]:
    """Hold many connections open, each with one request behind it."""
    request = server.request().on_the_wire(server.port)
    crowd: list[socket.socket] = []
    try:
        for _ in range(count):
            crowd.append(socket.create_connection(("127.0.0.1", server.port), 10))
            crowd[-1].sendall(request)
        for each in crowd:
            if not each.recv(65536).startswith(b"HTTP/1.1 200"):
                raise Absent("a connection of the crowd was refused")
        yield
    finally:
        for each in crowd:
            each.close()
