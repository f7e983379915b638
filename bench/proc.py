"""What Linux says of processes and of the machine, read from /proc.

Only reading lives here, and choosing where a process runs; starting and stopping is
`servers.py`.
"""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """Give a process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def cpu_seconds(pid: int) -> float:
    """Give the time that one process has spent on a core, all threads together."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def cpu_of(pids: list[int]) -> float:
    return sum(map(cpu_seconds, pids))


def memory(pids: list[int]) -> int:
    """Give the memory of processes; what they share counts once (PSS)."""
    return sum(_rollup(pid, "Pss:") for pid in pids)


def resident(pid: int) -> int:
    return _rollup(pid, "Rss:")


def busiest(pids: list[int]) -> int:
    """Give the process that has worked most: the worker, not its master."""
    return max(pids, key=cpu_seconds)


def connections(pid: int, port: int) -> int:
    """Count the connections to a port of the loopback that a process holds."""
    lines = (PROC / "net" / "tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    local = f":{port:04X}"
    open_ = {row[9] for row in fields if row[1].endswith(local) and row[3] == "01"}
    held = (os.readlink(link) for link in (PROC / str(pid) / "fd").iterdir())
    return sum(
        name.removeprefix("socket:[").removesuffix("]") in open_ for name in held
    )


def machine_cpu() -> float:
    """Give the time that all cores together have been busy since the start."""
    fields = (PROC / "stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / TICKS


def machine() -> dict[str, object]:
    """Describe the machine, as a reader of the figures needs it."""
    models = [
        line.partition(":")[2].strip()
        for line in (PROC / "cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    total = (PROC / "meminfo").read_text().split()[1]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(int(total) / 2**20, 1),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
    }


@contextmanager
def on_core(number: int) -> Iterator[None]:
    """Have what is started inside run on one core, where there are two or more."""
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
def going_first() -> Iterator[None]:
    """Run as soon as this process can, whoever else wants its core.

    For who measures time beside others; only root may. It is said if that fails.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("not root: others on its core disturb the client", file=sys.stderr)
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _stat(pid: int) -> list[str]:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:  # it has gone
        return []
    # The name may have spaces and brackets in it, so what counts is behind the last.
    return text[text.rindex(")") + 2 :].split()


def _rollup(pid: int, field: str) -> int:
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0
    [line] = [line for line in text.splitlines() if line.startswith(field)]
    return int(line.split()[1]) * 1024
