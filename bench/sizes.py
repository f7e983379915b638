"""Measure requests with the longest texts, which `traffic.py` does not contain."""

from typing import Any

from bench import install, load, messages, servers
from bench.errors import MeasurementError
from bench.load import LoadResult
from bench.peer import Peer, load_peers
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.results import ResultsFile

NAME = "sizes"
TEXTS = {"ascii": messages.LONG_ASCII, "cyrillic": messages.LONG_CYRILLIC}
SERVERS = ("nginx", "readback")


def measure(plan: Plan, progress: ProgressBar, published: bool) -> None:
    """Measure Readback and nginx, which sends constants of the same size, in turn."""
    file = ResultsFile(
        NAME, {"rounds": plan.rounds, "seconds": plan.seconds}, published
    )
    rounds: dict[str, list[Any]] = file.data.setdefault("rounds", {})
    peers = [load_peers()[name] for name in SERVERS]
    progress.add_steps(plan.rounds)
    progress.describe("measuring the longest texts")
    try:
        keys = {peer.name: _prepare(peer) for peer in peers}
        for _ in range(plan.rounds):
            for script, text in TEXTS.items():
                for peer in peers:
                    result = _load(peer, keys[peer.name], text, plan)
                    name = f"{peer.name}_{script}"
                    rounds.setdefault(name, []).append(result.as_json())
            file.write()
            progress.finish_step()
    except (MeasurementError, OSError) as error:
        progress.print(f"The longest texts could not be measured: {error}")


def _prepare(peer: Peer) -> list[str]:
    install.install(peer)
    return servers.prepare(peer)


def _load(peer: Peer, keys: list[str], text: str, plan: Plan) -> LoadResult:
    """Load a server after a warm-up; fail if any request was refused."""
    with servers.running(peer, keys, content=text) as server:
        requests = [server.request(text)]
        for seconds in (plan.warm_up_seconds, plan.seconds):
            result = load.wrk(server.port, requests, server.pids, seconds)
    if result.refused or result.broken:
        raise MeasurementError(
            f"{result.refused} requests were refused, {result.broken} failed"
        )
    return result
