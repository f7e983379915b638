"""The peers, round by round: each is started, asked, loaded and stopped in its turn.

Rounds are interleaved (every peer once, then every peer again), so that a machine
whose speed changes during the run changes it for all. The limit comes first: half of
what it reaches in its first turn is the fixed rate at which latency is measured.
"""

from collections.abc import Iterable
from http.client import HTTPException
from typing import Any

from bench import honesty, load, proc, roster, servers
from bench.display import Display
from bench.honesty import Dishonest
from bench.pace import Pace
from bench.results import Results
from bench.roster import Absent, Peer
from bench.servers import Server

LIMIT = "nginx"


class Rounds:
    """All turns of all peers."""

    def __init__(
        self, peers: Iterable[Peer], pace: Pace, display: Display, kept: bool
    ) -> None:
        self.pace = pace
        self.display = display
        self.keys: dict[str, str] = {}
        self.half_limit = 0.0
        method = {
            "rounds": pace.rounds,
            "seconds": pace.seconds,
            "warm_seconds": pace.warm_seconds,
            "connections": load.CONNECTIONS,
        }
        self.results = Results("peers", method, kept)
        self.peers = {peer.name: peer for peer in peers}
        self.results.data["peers"] = {
            peer.name: {"title": peer.title, "family": peer.family, "key": peer.key}
            | {"echoes": peer.echoes, "turns": []}
            for peer in self.peers.values()
        }

    def run(self) -> dict[str, Any]:
        self.display.expect(len(self.peers) * (1 + self.pace.rounds))
        for peer in self.peers.values():
            self._install(peer)
        for number in range(1, self.pace.rounds + 1):
            for peer in self.peers.values():
                self._turn(peer, number)
        return self.results.data

    def _install(self, peer: Peer) -> None:
        self.display.begin(f"installing {peer.title}")
        row = self.results.data["peers"][peer.name]
        try:
            roster.install(peer)
            row["version"] = roster.version_of(peer)
            self.keys[peer.name] = servers.prepare(peer)
        except Absent as absent:
            self._leave_out(peer, str(absent))
        self.results.write()
        self.display.done()

    def _turn(self, peer: Peer, number: int) -> None:
        if peer.name not in self.keys:
            return self.display.done()
        self.display.begin(f"round {number}: {peer.title}")
        try:
            with servers.running(peer, self.keys[peer.name]) as server:
                turn = self._measure(server, number)
        except (Absent, Dishonest, OSError, HTTPException, ValueError) as reason:
            self._leave_out(peer, str(reason))
            return self.display.done()
        self.results.data["peers"][peer.name]["turns"].append(turn)
        self.results.write()
        self.display.done(_line(peer, number, turn))

    def _measure(self, server: Server, number: int) -> dict[str, Any]:
        if number == 1:
            honesty.check(server)
        request, pids, seconds = server.request(), server.pids, self.pace.seconds
        load.wrk(server.port, request, pids, self.pace.warm_seconds)
        measured = load.wrk(server.port, request, pids, seconds)
        if not measured.requests:
            raise Absent(f"no answer within {seconds} s of load")
        if measured.refused or measured.broken:
            raise Dishonest(
                f"{measured.refused} requests of {measured.requests} were refused, "
                f"{measured.broken} broke"
            )
        if server.peer.name == LIMIT and not self.half_limit:
            self.half_limit = round(measured.rate / 2, -3)
            self.results.data["method"]["fixed_rate"] = self.half_limit
        steady = None
        if 0 < self.half_limit <= measured.rate:
            steady = load.steady(server.port, request, self.half_limit, seconds)
        return measured.as_json() | {
            "round": number,
            "start_seconds": server.start_seconds,
            "memory_bytes": proc.memory(server.pids),
            "steady": steady,
        }

    def _leave_out(self, peer: Peer, reason: str) -> None:
        self.keys.pop(peer.name, None)
        self.results.data["peers"][peer.name]["absent"] = reason
        self.results.write()
        self.display.say(f"{peer.title} is absent: {reason}")


def _line(peer: Peer, number: int, turn: dict[str, Any]) -> str:
    return (
        f"round {number}  {peer.title:<30} {turn['rate']:>9,.0f} /s "
        f"{turn['per_cpu_second']:>9,.0f} per CPU-second "
        f"p99 {turn['p99'] / 1000:.2f} ms"
    )
