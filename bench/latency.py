"""The latency that users notice when a server is not saturated.

The rate that each server sustains on its core is measured first. The server then gets
10 % and 50 % of it, from one client and from 1,000 clients with a connection each.
nginx, at the same rates as Readback, shows what the client and the kernel add.
"""

import sys
import tempfile
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any

from bench import install, load, servers
from bench.errors import MeasurementError
from bench.messages import Request
from bench.peer import Peer
from bench.plan import Plan
from bench.progress import ProgressBar
from bench.results import ResultsFile
from bench.servers import PeerServer
from bench.traffic import ANY_TEXT, KEYS, KINDS, ONE_KEY

NAME = "latency"
FLOOR = "nginx"
SERVERS = ("readback", "go", "fastapi", FLOOR)
CONNECTIONS = {ONE_KEY: load.CONNECTIONS, ANY_TEXT: KEYS}
SHARES = (10, 50)
"""Percentages of the rate that a server sustains on its core."""


def measure(
    peers: dict[str, Peer], plan: Plan, published: bool, progress: ProgressBar
) -> None:
    """Measure all servers in rounds; write `latency.json` after each."""
    method = {"rounds": plan.steady_rounds, "seconds": plan.steady_seconds}
    file = ResultsFile(NAME, method, published)
    rows = file.data["peers"] = {
        name: {"title": peers[name].title, "family": peers[name].family, "rounds": []}
        for name in SERVERS
    }
    keys = {}
    progress.add_steps(plan.steady_rounds * len(SERVERS))
    for number in range(1, plan.steady_rounds + 1):
        rates: dict[tuple[str, int], float] = {}
        for name in SERVERS:
            progress.describe(f"round {number}: the latency of {peers[name].title}")
            try:
                if name not in keys:
                    install.install(peers[name])
                    keys[name] = servers.prepare(peers[name])
                with servers.running(peers[name], keys[name]) as server:
                    found = _measure_server(server, plan, rates, progress)
                rows[name]["rounds"].append(found)
            except (MeasurementError, OSError, HTTPException) as error:
                rows[name]["not_measured"] = str(error)
                progress.print(f"The latency of {name} is not measured: {error}")
            file.write()
            progress.finish_step()


def _measure_server(
    server: PeerServer,
    plan: Plan,
    rates: dict[tuple[str, int], float],
    progress: ProgressBar,
) -> list[dict[str, Any]]:
    """Return a row for each kind of traffic and rate; store the rates for nginx."""
    rows = []
    for kind, connections in CONNECTIONS.items():
        requests = KINDS[kind](server.keys)
        for _ in range(2):  # the first is the warm-up
            full = load.wrk(server.port, requests, server.pids, 1).per_cpu_second
        for share in SHARES:
            rate = full * share / 100
            first = rates.setdefault((kind, share), rate)
            rate = first if server.peer.name == FLOOR else rate
            sent = _send(server, requests, rate, plan.steady_seconds, connections)
            rows.append({"traffic": kind, "share": share, "rate": rate} | sent)
            progress.print(
                f"  {server.peer.title:<28} {kind:<24} {rate:>7,.0f} /s "
                f"p50 {sent['p50']:>6,} µs  p99 {sent['p99']:>7,} µs"
            )
    return rows


def _send(
    server: PeerServer,
    requests: Sequence[Request],
    rate: float,
    seconds: int,
    connections: int,
) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile() as file:
        for request in requests:
            file.write(request.to_bytes(server.port) + b"\0")
        file.flush()
        command = [sys.executable, "-m", "bench.steady", str(server.port), str(rate)]
        command += [str(seconds), str(connections), file.name]
        report, cpu = load.measure_cpu(command, server.pids)
    return report | cpu
