"""`pip install .` installs the probe, which runs without any part of the server."""

import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution, requires
from pathlib import Path
from shutil import copy2

import pytest

from readback.probe.findings import Family
from tests.support.server import Server

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its own requirements, in locked versions.

    They are copied from the environment that runs the tests, which has them from the
    lock, so that no network is needed.
    """
    place = tmp_path_factory.mktemp("installed")
    builder = venv.EnvBuilder(symlinks=True, with_pip=False)
    builder.create(place / "venv")
    [site] = (place / "venv").glob("lib/python*/site-packages")
    for name in sorted(needed("readback")):
        copy(distribution(name), site)
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place))
    [wheel] = place.glob("*.whl")
    call(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
         "--target", str(site), str(wheel))  # fmt: skip
    return place / "venv/bin/python"


def needed(name: str) -> set[str]:
    """Give all that a package needs, extras aside, as far as it goes."""
    rows = [row for row in requires(name) or [] if "extra ==" not in row]
    own = {re.split(r"[^\w.-]", row)[0] for row in rows if applies(row)}
    return own.union(*(needed(one) for one in own))


def applies(row: str) -> bool:
    """Leave out what only another Python or system needs: it is not installed."""
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


@pytest.mark.parametrize("part", ["django", "gunicorn", "uvloop", "msgspec", "openai"])
def test_no_part_of_the_server_is_installed(part: str, python: Path) -> None:
    code = f"import importlib.util as u; print(u.find_spec({part!r}))"
    assert call(str(python), "-I", "-c", code) == "None\n"


def test_the_probe_runs_by_itself(python: Path, readback: Server) -> None:
    done = subprocess.run(
        [python, "-I", "-m", "readback", "probe", readback.base_url, "--as", "openai"],
        env={"READBACK_API_KEY": readback.api_key},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == Family.WELL, done.stdout + done.stderr
    assert done.stdout.endswith("Works: every text was read back unchanged.\n")
    assert "The package openai is not installed" in done.stdout


def test_a_command_of_the_server_says_what_to_install(python: Path) -> None:
    command = [python, "-I", "-m", "readback", "serve"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "pip install '.[server]'" in done.stderr
