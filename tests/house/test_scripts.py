"""The scripts of the Makefile work on machines that are not prepared for them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import free_port

ROOT = Path(__file__).parents[2]
# A requirement that no index has, so that nothing can be installed by mistake.
REQUIREMENT = f"readback-does-not-exist==1 --hash=sha256:{'0' * 64}\n"


def run(*command: str, folder: Path = ROOT, **variables: str):
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_python_may_be_in_a_folder_with_a_space_in_its_name(tmp_path):
    folder = tmp_path / "my python"
    folder.mkdir()
    python = folder / "python3"
    python.symlink_to(Path(sys.executable).resolve())

    done = run("scripts/python", PYTHON=str(python))

    assert (done.stdout, done.stderr) == (f"{python}\n", "")


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_test_looks_for_chromium_before_it_installs_anything():
    plan = run("make", "--dry-run", "--always-make", "test").stdout

    assert -1 < plan.find("scripts/chromium") < plan.find("scripts/install dev")


def test_without_network_the_installation_ends_with_one_sentence(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "requirements").mkdir()
    for name in ("pip.txt", "build.txt", "run.txt"):
        (tmp_path / "requirements" / name).write_text(REQUIREMENT)
    # This environment is complete, and pip gets as far as the download.
    (tmp_path / ".venv").mkdir()
    # Without the file, the Python of a distribution would let pip install nothing.
    for name in ("bin", "lib", "pyvenv.cfg"):
        (tmp_path / ".venv" / name).symlink_to(Path(sys.prefix, name))

    done = run(
        *("scripts/install", "run"),
        folder=tmp_path,
        PIP_CONFIG_FILE=os.devnull,
        PIP_INDEX_URL=f"http://127.0.0.1:{free_port()}/simple",
        PIP_RETRIES="1",
    )

    assert done.returncode == 1
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("The package index cannot be reached: ")
    assert "Connection refused" in sentence
    # Nothing was installed in part, so the environment is not created again.
    assert not (tmp_path / ".venv" / "unfinished").exists()
