"""The comparison of the peers: each round starts, loads and stops every peer.

All peers are measured in round 1, then all in round 2, and so on, so a machine that
becomes slower during the run becomes slower for all of them.
"""

from collections.abc import Iterable, Sequence
from http.client import HTTPException
from typing import Any

from bench import conformance, install, load, proc, servers, traffic
from bench.errors import MeasurementError
from bench.load import LoadResult
from bench.messages import Request
from bench.peer import Peer
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.results import ResultsFile
from bench.servers import PeerServer

LIMIT = "nginx"


class Comparison:
    """All rounds of all peers."""

    def __init__(
        self, peers: Iterable[Peer], plan: Plan, progress: ProgressBar, published: bool
    ) -> None:
        self._peers = {peer.name: peer for peer in peers}
        self._plan = plan
        self._progress = progress
        # The keys of the peers that can be measured.
        self._keys: dict[str, list[str]] = {}
        method = {
            "rounds": plan.rounds,
            "seconds": plan.seconds,
            "warm_up_seconds": plan.warm_up_seconds,
            "connections": load.CONNECTIONS,
        }
        self._results = ResultsFile("peers", method, published)
        self._results.data["peers"] = {
            peer.name: {"title": peer.title, "family": peer.family}
            | {"rounds": [], "traffic": {}}
            for peer in self._peers.values()
        }

    def run(self) -> None:
        self._progress.add_steps(len(self._peers) * (1 + self._plan.rounds))
        for peer in self._peers.values():
            self._install(peer)
        for number in range(1, self._plan.rounds + 1):
            for peer in self._peers.values():
                self._run_round(peer, number)

    def _install(self, peer: Peer) -> None:
        self._progress.describe(f"installing {peer.title}")
        row = self._results.data["peers"][peer.name]
        try:
            install.install(peer)
            row["version"] = install.installed_version(peer)
            self._keys[peer.name] = servers.prepare(peer)
        except MeasurementError as error:
            self._leave_out(peer, str(error))
        self._results.write()
        self._progress.finish_step()

    def _run_round(self, peer: Peer, number: int) -> None:
        if peer.name not in self._keys:
            self._progress.finish_step()
            return
        self._progress.describe(f"round {number}: {peer.title}")
        try:
            with servers.running(peer, self._keys[peer.name]) as server:
                figures = self._measure(server, number)
        except (MeasurementError, OSError, HTTPException, ValueError) as error:
            self._leave_out(peer, str(error))
            self._progress.finish_step()
            return
        self._results.data["peers"][peer.name]["rounds"].append(figures)
        self._results.write()
        self._progress.finish_step(_line(peer, figures))

    def _measure(self, server: PeerServer, number: int) -> dict[str, Any]:
        if number == 1:
            conformance.check(server)
        result = self._load(server, [server.request()])
        memory = proc.memory(server.pids)
        self._measure_traffic(server)
        return result.as_json() | {
            "round": number,
            "start_seconds": server.start_seconds,
            "memory_bytes": memory,
        }

    def _measure_traffic(self, server: PeerServer) -> None:
        """Measure every kind of traffic but ONE_KEY, which `_measure` has covered."""
        rounds = self._results.data["peers"][server.peer.name]["traffic"]
        for name in traffic.KINDS:
            if name != traffic.ONE_KEY:
                result = self._load(server, traffic.KINDS[name](server.keys))
                rounds.setdefault(name, []).append(result.as_json())
                efficiency = f"{result.per_cpu_second:,.0f} per CPU-second"
                self._progress.print(f"         {name:<33} {efficiency:>31}")

    def _load(self, server: PeerServer, requests: Sequence[Request]) -> LoadResult:
        for seconds in (self._plan.warm_up_seconds, self._plan.seconds):
            result = load.wrk(server.port, requests, server.pids, seconds)
        if not result.requests:
            raise MeasurementError(f"no response within {seconds} s of load")
        if result.refused or result.broken:
            raise MeasurementError(
                f"of {result.requests} requests, {result.refused} were refused and "
                f"{result.broken} failed"
            )
        return result

    def _leave_out(self, peer: Peer, reason: str) -> None:
        """Do not measure a peer any further; record the reason."""
        self._keys.pop(peer.name, None)
        self._results.data["peers"][peer.name]["not_measured"] = reason
        self._results.write()
        self._progress.print(f"{peer.title} is not measured: {reason}")


def _line(peer: Peer, figures: dict[str, Any]) -> str:
    return (
        f"round {figures['round']}  {peer.title:<30} {figures['rate']:>9,.0f} /s "
        f"{figures['per_cpu_second']:>9,.0f} per CPU-second "
        f"p99 {figures['p99'] / 1000:.2f} ms"
    )
