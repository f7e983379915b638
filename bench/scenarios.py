"""Measurements beside the kinds of traffic: long texts and pipelined requests.

Each scenario returns raw figures; `goals.py` evaluates them. The servers that are
compared are measured alternately, as in the comparison.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench import install, load, messages, servers
from bench.errors import MeasurementError
from bench.load import LoadResult
from bench.messages import PIPELINED_REQUESTS
from bench.peer import Peer, load_peers
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.servers import PeerServer

Figures = dict[str, Any]


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

    def load(
        self, server: PeerServer, content: str = messages.SHORT, batch: int = 1
    ) -> LoadResult:
        """Load a server after a warm-up."""
        requests = [server.request(content)]
        for seconds in (self.plan.warm_up_seconds, self.plan.seconds):
            result = load.wrk(server.port, requests, server.pids, seconds, batch)
        return result

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
                    accepted = _accepted(runner.load(server, text))
                figures.setdefault(f"{name}_{script}", []).append(accepted)
    return figures


def pipelined(runner: Runner) -> Figures:
    """Measure connections that send several requests at once."""
    figures: Figures = {"batch": PIPELINED_REQUESTS}
    for _ in runner.rounds():
        for name in ("nginx", "readback"):
            with runner.running(name) as server:
                accepted = _accepted(runner.load(server, batch=PIPELINED_REQUESTS))
            figures.setdefault(name, []).append(accepted)
    return figures


SCENARIOS: dict[str, Callable[[Runner], Figures]] = {
    "sizes": sizes,
    "pipelined": pipelined,
}


def _accepted(result: LoadResult) -> dict[str, object]:
    """Return the figures; fail if any request was refused."""
    if result.refused or result.broken:
        raise MeasurementError(
            f"{result.refused} requests were refused, {result.broken} failed"
        )
    return result.as_json()
