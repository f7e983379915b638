"""Facts about processes and the machine, read from Linux's /proc.

This module only reads, and pins processes to cores. Starting and stopping processes is
the job of `servers.py`.
"""

import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


def process_tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    pending = [pid]
    while pending:
        found.append(pending.pop())
        pending += children.get(found[-1], [])
    return found


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, in all its threads."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def memory(pids: list[int]) -> int:
    """Return the memory of processes in bytes; shared memory counts once (PSS)."""
    return sum(_memory(pid, "Pss:") for pid in pids)


def private_memory(pid: int) -> int:
    """Return how many bytes of memory a process shares with no other process."""
    return _memory(pid, "Private_")


def busiest(pids: list[int]) -> int:
    """Return the process that has used the most CPU: the worker, not its manager."""
    return max(pids, key=cpu_seconds)


def machine_cpu_seconds() -> float:
    """Return the time that all cores together have been busy since boot."""
    fields = (PROC / "stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / TICKS


def describe_machine() -> dict[str, object]:
    """Return what a reader of the figures needs to know about the machine."""
    models = [
        line.partition(":")[2].strip()
        for line in (PROC / "cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    total_kib = (PROC / "meminfo").read_text().split()[1]
    return {
        "cpu": models[0] if models else _listed_model(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(int(total_kib) / 2**20, 1),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
        "python_build": describe_python_build(),
    }


def describe_python_build() -> dict[str, object]:
    """Return how this Python was compiled, which changes how fast it is."""
    variables = ("CONFIG_ARGS", "PY_CFLAGS", "PY_CFLAGS_NODIST", "PY_LDFLAGS_NODIST")
    flags = " ".join(str(sysconfig.get_config_var(name)) for name in variables)
    pgo = "--enable-optimizations" in flags or "-fprofile-use" in flags
    lto = "--with-lto" in flags or "-flto" in flags
    # Debian optimizes its own Python, but does not record the flags.
    unknown = None if sys.base_prefix == "/usr" else False
    return {
        "compiler": platform.python_compiler(),
        "pgo": pgo or unknown,
        "lto": lto or unknown,
    }


@contextmanager
def on_core(number: int) -> Iterator[None]:
    """Run everything started inside on one core, if there are at least two."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        yield
        return
    os.sched_setaffinity(0, {cores[number]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextmanager
def real_time_priority() -> Iterator[None]:
    """Run this process before all others on its core, so that it measures accurately.

    Only root may do so; without root, print a warning and continue.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print(
            "Warning: not root, so other processes on the same core delay the client.",
            file=sys.stderr,
        )
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _listed_model() -> str:
    """Return the processor's name where /proc/cpuinfo has none, as on ARM."""
    with suppress(OSError):
        listed = subprocess.run(["lscpu"], capture_output=True, text=True).stdout
        for line in listed.splitlines():
            if line.startswith("Model name:"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _stat(pid: int) -> list[str]:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:  # the process has ended
        return []
    # The name, in brackets, may itself contain spaces and brackets.
    return text[text.rindex(")") + 2 :].split()


def _memory(pid: int, prefix: str) -> int:
    """Return the sum, in bytes, of the counters whose name starts with `prefix`."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:  # the process has ended
        return 0
    lines = [line for line in text.splitlines() if line.startswith(prefix)]
    return sum(int(line.split()[1]) for line in lines) * 1024
