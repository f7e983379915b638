"""Count the user-mode instructions of Readback per request, with valgrind.

The counts depend on the processor's architecture and on how Python was built, but not
on the speed of the machine or on other programs. The kernel's work is not included.

Only the work for requests is counted (`in_process.py`). A server also does periodic
work, and how much of that falls into a count depends on how busy the machine is.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import in_process, traffic
from bench.errors import MeasurementError
from bench.paths import ROOT
from bench.progress import ProgressBar
from bench.results import ResultsFile

VGDB_SECONDS = 60
# The warm-up uses every key.
WARM_UP_REQUESTS = 4 * traffic.KEYS
FEW_REQUESTS = 160
# Every key is used equally often.
REQUESTS = 2 * traffic.KEYS
KINDS = {
    "50 bytes, the same connection": in_process.repeated,
    f"50 bytes, {traffic.MANY_CLIENTS}": in_process.many_clients,
    traffic.ANY_TEXT: in_process.any_text,
    traffic.ANY_ADDRESS: in_process.any_address,
    traffic.REQUEST_IDS: in_process.request_ids,
    "50 bytes, a new connection each": in_process.new_connections,
    "8192 bytes of ASCII": in_process.ascii_texts,
    "8192 bytes of Cyrillic": in_process.cyrillic_texts,
}


def measure(progress: ProgressBar) -> None:
    """Count the instructions for each kind of traffic; write `instructions.json`."""
    file = ResultsFile("instructions", {"requests": REQUESTS}, published=True)
    cases = file.data["cases"] = {}
    progress.add_steps(1 + len(KINDS))
    progress.describe("counting what sending costs")
    # Sending is not Readback's work.
    sending = count(in_process.driver)
    progress.finish_step()
    for name, kind in KINDS.items():
        progress.describe(f"counting: {name}")
        cases[name] = round(count(kind) - sending)
        progress.finish_step(f"{name:<34} {cases[name]:>9,} instructions")
    file.write()


def count(kind: Callable[..., in_process.Send], requests: int = REQUESTS) -> float:
    """Return the instructions per request, sending included."""
    command = [sys.executable, "-m", "bench.in_process", kind.__name__]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*_valgrind(folder), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # With this seed, sets have the same order in every run.
            env=os.environ | {"PYTHONHASHSEED": "0"},
            cwd=ROOT,
            text=True,
        ) as process,
    ):
        try:
            return _Counted(process, Path(folder)).per_request(requests)
        finally:
            process.kill()


class _Counted:
    """A process of `in_process.py` under valgrind."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._dumps = 0
        self._expect("ready")

    def per_request(self, requests: int) -> float:
        # Python specializes its bytecode while it runs, and caches fill.
        self._send(WARM_UP_REQUESTS)
        _command(self._process.pid, "instrumentation", "on")
        self._count(FEW_REQUESTS)  # discarded: valgrind translates the code now
        few = self._count(FEW_REQUESTS)
        # Both counts include reading the command and writing the dump.
        return (self._count(FEW_REQUESTS + requests) - few) / requests

    def _count(self, requests: int) -> int:
        self._send(requests)
        _command(self._process.pid, "dump")
        self._dumps += 1
        return _dumped_total(self._folder / f"out.{self._process.pid}.{self._dumps}")

    def _send(self, requests: int) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{requests}\n")
        self._process.stdin.flush()
        self._expect("done")

    def _expect(self, line: str) -> None:
        assert self._process.stdout
        if self._process.stdout.readline().strip() != line:
            raise MeasurementError("Readback failed in process; see above")


def _valgrind(folder: str) -> list[str]:
    return [
        "valgrind",
        "--tool=callgrind",
        "--trace-children=yes",
        # Python starts much faster without instrumentation.
        "--instr-atstart=no",
        f"--callgrind-out-file={folder}/out.%p",
        f"--log-file={folder}/log.%p",
    ]


def _command(pid: int, *words: str) -> None:
    """Send a command to callgrind in a process."""
    command = ["vgdb", f"--pid={pid}", *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=VGDB_SECONDS)
    except subprocess.TimeoutExpired:
        raise MeasurementError("valgrind did not react") from None
    if done.returncode:
        raise MeasurementError(f"vgdb failed: {done.stderr.decode().strip()}")


def _dumped_total(path: Path) -> int:
    found = re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)
    if not found:
        raise MeasurementError("valgrind counted nothing")
    return int(found[1])
