"""The Pythons on this machine, for code that must run on all of them."""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from tests.support.environment import before

CURRENT = f"{sys.version_info[0]}.{sys.version_info[1]}"
"""The version that runs the tests."""


def python(version: str) -> Path:
    """Return a Python of this version, such as "3.9", or else skip the test."""
    for path in _candidates(version):
        if _runs(path):
            return path
    pytest.skip(f"Python {version} is not installed")


def _candidates(version: str) -> Iterator[Path]:
    if version == CURRENT:
        yield Path(sys.executable)
    if root := _pyenv_root():
        yield from root.glob(f"versions/{version}.*/bin/python{version}")
    if found := which(f"python{version}"):
        yield Path(found)


@cache
def _pyenv_root() -> Path | None:
    if not which("pyenv"):
        return None
    # pyenv needs PYENV_ROOT or the real home directory, and tests have neither.
    root = ["pyenv", "root"]
    return Path(subprocess.check_output(root, env=before(), text=True).strip())


def _runs(path: Path) -> bool:
    """Return False for a pyenv shim without a Python behind it."""
    return subprocess.run([path, "-c", ""], capture_output=True).returncode == 0
