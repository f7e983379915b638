"""Disks that are full or read-only."""

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def limited_files(*pids: int) -> Iterator[None]:
    """Let processes write only 4096 bytes to a file, as if the disk were full."""

    def limit(size: int) -> None:
        for pid in pids:
            sizes = (size, resource.RLIM_INFINITY)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, sizes)

    limit(4096)
    yield
    limit(resource.RLIM_INFINITY)


@contextmanager
def mounted(place: Path, *options: str) -> Iterator[None]:
    """Mount a file system or a folder at a path; skip the test if that is refused."""
    mount = ["mount", *options, str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Make a file or a folder read-only, even for root."""
    with mounted(place, "--bind", str(place)):
        remount = ["mount", "-o", "remount,bind,ro", str(place)]
        subprocess.run(remount, check=True)
        yield
