"""One measurement: a load generator runs, and the server's CPU and memory are read.

The generator has the last core, the server the first. `wrk` sends as fast as it gets
answers; `steady` sends at a fixed rate. Nothing here knows peers or goals.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import proc
from bench.messages import Request

CONNECTIONS = 32
SCRIPT = Path(__file__).parent / "wrk.lua"


@dataclass(frozen=True)
class Load:
    """What came of one run of wrk; latencies in microseconds."""

    requests: int
    seconds: float
    cpu_seconds: float
    per_process: dict[int, float]
    p50: float
    p99: float
    p999: float
    refused: int
    broken: int
    others_share: float
    """What other programs used of the machine meanwhile, in cores."""

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def per_cpu_second(self) -> float:
        # A tick at least: the kernel counts no finer.
        return self.requests / max(self.cpu_seconds, 1 / proc.TICKS)

    def as_json(self) -> dict[str, object]:
        row = asdict(self)
        del row["per_process"]
        return row | {"rate": self.rate, "per_cpu_second": self.per_cpu_second}


def wrk(
    port: int,
    request: Request,
    pids: list[int],
    seconds: float,
    connections: int = CONNECTIONS,
) -> Load:
    """Load a server for so many seconds; the pids are all its processes."""
    with tempfile.NamedTemporaryFile() as body:
        body.write(request.body)
        body.flush()
        url = f"http://127.0.0.1:{port}{request.path}"
        headers = [f"{name}: {value}" for name, value in request.headers.items()]
        command = ["wrk", "--threads", "1", "--connections", str(connections)]
        command += ["--duration", f"{max(1, round(seconds))}s", "--timeout", "10s"]
        command += ["--script", str(SCRIPT), url, "--"]
        command += [request.method, body.name, *headers]
        before, machine, own, began = _readings(pids)
        with proc.on_core(-1):
            said = _run(command).decode()
        after, machine_after, own_after, ended = _readings(pids)
    spent = {pid: after[pid] - before[pid] for pid in pids}
    cpu = sum(spent.values())
    others = machine_after - machine - cpu - (own_after - own)
    result = json.loads(said.rpartition("RESULT ")[2])
    return Load(
        seconds=result.pop("microseconds") / 1e6,
        cpu_seconds=cpu,
        per_process=spent,
        others_share=max(0.0, round(others / (ended - began), 3)),
        **result,
    )


def steady(
    port: int, request: Request, rate: float, seconds: float
) -> dict[str, float]:
    """Send at a fixed rate; latencies count from when a request was due."""
    command = [sys.executable, "-m", "bench.steady", "--port", str(port)]
    command += ["--rate", str(rate), "--seconds", str(seconds)]
    command += ["--connections", str(CONNECTIONS)]
    with proc.on_core(-1):
        said = _run(command, request.on_the_wire(port))
    result: dict[str, float] = json.loads(said)
    return result


def _run(command: list[str], data: bytes = b"") -> bytes:
    done = subprocess.run(command, input=data, capture_output=True)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise ConnectionError(f"the load broke off: {said.splitlines()[-1:]}")
    return done.stdout


def _readings(pids: list[int]) -> tuple[dict[int, float], float, float, float]:
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    mine = time.process_time() + own.ru_utime + own.ru_stime
    spent = {pid: proc.cpu_seconds(pid) for pid in pids}
    return spent, proc.machine_cpu(), mine, time.perf_counter()


def raise_file_limit() -> int:
    """Allow this process, and those it starts, as many open files as it may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(hard, os.sysconf("SC_OPEN_MAX"))
