"""One measurement: run a load generator, and read the CPU time of the server.

The generator runs on the last core, the server on the first. `wrk` sends as fast as
responses arrive. This module does not depend on peers or goals.
"""

import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import proc
from bench.messages import Request
from bench.paths import ROOT

CONNECTIONS = 32
SCRIPT = Path(__file__).parent / "wrk.lua"


@dataclass(frozen=True)
class LoadResult:
    """The result of one run of wrk; latencies are in microseconds."""

    requests: int
    seconds: float
    cpu_seconds: float
    p50: float
    p99: float
    p999: float
    refused: int
    broken: int
    others_share: float
    """CPU time of other programs during the run, in cores."""

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def per_cpu_second(self) -> float:
        # At least one tick, the kernel's resolution.
        return self.requests / max(self.cpu_seconds, 1 / proc.TICKS)

    def as_json(self) -> dict[str, object]:
        derived = {"rate": self.rate, "per_cpu_second": self.per_cpu_second}
        return asdict(self) | derived


def wrk(
    port: int,
    requests: Sequence[Request],
    pids: list[int],
    seconds: float,
) -> LoadResult:
    """Load a server whose processes are `pids`; the connections share the requests.

    Each connection sends its requests in turn, and waits for each response.
    """
    with tempfile.NamedTemporaryFile() as file:
        for request in requests:
            file.write(request.to_bytes(port) + b"\0")
        file.flush()
        command = ["wrk", "--threads", "1", "--connections", str(CONNECTIONS)]
        command += ["--duration", f"{max(1, round(seconds))}s", "--timeout", "10s"]
        command += ["--script", str(SCRIPT), f"http://127.0.0.1:{port}/", "--"]
        result, cpu = measure_cpu([*command, file.name], pids)
    return LoadResult(seconds=result.pop("microseconds") / 1e6, **(result | cpu))


def measure_cpu(
    command: list[str], pids: list[int]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Run a load generator; return its report, and the CPU time used meanwhile.

    The report is the JSON at the end of its output.
    """
    before = _Reading.take(pids)
    with proc.on_core(-1):
        output = _run(command).decode()
    after = _Reading.take(pids)
    cpu = after.server - before.server
    others = after.machine - before.machine - cpu - (after.own - before.own)
    share = max(0.0, round(others / (after.clock - before.clock), 3))
    report: dict[str, Any] = json.loads(output.rpartition("RESULT ")[2])
    return report, {"cpu_seconds": cpu, "others_share": share}


def raise_file_limit() -> None:
    """Raise the limit on open files of this process and its children to the maximum."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@dataclass(frozen=True)
class _Reading:
    """CPU seconds used so far, and the time."""

    server: float
    machine: float
    own: float
    """This process and the load generators it has run."""
    clock: float

    @classmethod
    def take(cls, pids: list[int]) -> "_Reading":
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = time.process_time() + children.ru_utime + children.ru_stime
        server = sum(map(proc.cpu_seconds, pids))
        return cls(server, proc.machine_cpu_seconds(), own, time.perf_counter())


def _run(command: list[str]) -> bytes:
    done = subprocess.run(command, cwd=ROOT, capture_output=True)
    if done.returncode:
        output = (done.stderr or done.stdout).decode(errors="replace").strip()
        last_line = output.splitlines()[-1] if output else "no output"
        raise ConnectionError(f"the load generator failed: {last_line}")
    return done.stdout
