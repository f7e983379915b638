"""`pip install .` installs the probe without any part of the server."""

import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution, requires
from pathlib import Path
from shutil import copy2

import pytest

from readback.cabinet.keys import probe_file
from readback.probe.common.results import FailureFamily
from tests.support.server import Server

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its requirements in their locked versions.

    The requirements are copied from the environment that runs the tests, which was
    installed from the lock file, so no network is needed.
    """
    folder = tmp_path_factory.mktemp("installed")
    builder = venv.EnvBuilder(symlinks=True, with_pip=False)
    builder.create(folder / "venv")
    [site] = (folder / "venv").glob("lib/python*/site-packages")
    for name in sorted(requirements("readback-api")):
        copy(distribution(name), site)
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    [wheel] = folder.glob("*.whl")
    call(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
         "--target", str(site), str(wheel))  # fmt: skip
    return folder / "venv/bin/python"


def requirements(name: str) -> set[str]:
    """Return the names of all direct and indirect requirements, without extras."""
    rows = [row for row in requires(name) or [] if "extra ==" not in row]
    own = {re.split(r"[^\w.-]", row)[0] for row in rows if applies(row)}
    return own.union(*(requirements(each) for each in own))


def applies(row: str) -> bool:
    """Return False if only other Python versions or systems need this requirement."""
    name = re.split(r"[^\w.-]", row)[0]
    try:
        distribution(name)
    except ModuleNotFoundError:
        return ";" not in row
    return True


def copy(package: Distribution, site: Path) -> None:
    for file in package.files or []:
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            copy2(file.locate(), target)


def call(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_part_of_the_server_is_installed(python: Path) -> None:
    parts = ["django", "uvloop", "openai", "httpx"]
    code = f"import importlib.util as u; print([*map(u.find_spec, {parts})])"
    assert call(str(python), "-I", "-c", code) == f"{[None] * len(parts)}\n"


def test_the_probe_runs_without_the_server(python: Path, readback: Server) -> None:
    done = subprocess.run(
        [python, "-I", "-m", "readback", "probe", readback.base_url],
        env={"READBACK_API_KEY": readback.api_key, "PATH": str(python.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == FailureFamily.NONE, done.stdout + done.stderr
    assert done.stdout.startswith("✓ Works: every text was returned unchanged.\n")


def test_the_file_for_other_machines_is_the_same_in_every_installation(
    python: Path,
) -> None:
    code = "from readback.cabinet.keys import probe_file as p; print(p.checksum())"
    done = subprocess.run(
        [python, "-I", "-c", code],
        env={"TZ": "Asia/Tokyo"},
        umask=0o077,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == probe_file.checksum(), done.stderr
