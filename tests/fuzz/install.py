"""The environment of the fuzzer: .fuzz/venv, in locked versions.

atheris is built from its source where there is no wheel, which needs clang with
libFuzzer and takes a few minutes. Whatever is missing raises `CannotFuzz`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKSPACE = ROOT / ".fuzz"
VENV = WORKSPACE / "venv"
PYTHON = VENV / "bin" / "python"
BUILD_REQUIREMENTS = ROOT / "requirements" / "fuzz-build.txt"
REQUIREMENTS = ROOT / "requirements" / "fuzz.txt"
# What atheris supports; it works on the bytecode, which changes with each version.
PYTHONS = ("3.13", "3.12", "3.11")


class CannotFuzz(Exception):
    """The fuzzer cannot be installed here; the text says why and what to do."""


def install() -> None:
    """Install the fuzzer, unless it is installed already."""
    marker = VENV / "installed"
    wanted = BUILD_REQUIREMENTS.read_text() + REQUIREMENTS.read_text()
    if marker.is_file() and marker.read_text() == wanted:
        return
    print("Installing atheris in .fuzz/venv. This may take five minutes.", flush=True)
    _run([_supported_python(), "-m", "venv", "--clear", str(VENV)])
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    hashed = [*pip, "--require-hashes"]
    _run([*hashed, "-r", str(BUILD_REQUIREMENTS)])
    # With build isolation, pip would download a build backend without its hash.
    _run([*hashed, "--no-build-isolation", "-r", str(REQUIREMENTS)])
    _run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])
    marker.write_text(wanted)


def _supported_python() -> str:
    if f"{sys.version_info.major}.{sys.version_info.minor}" in PYTHONS:
        return sys.executable
    for version in PYTHONS:
        name = f"python{version}"
        # A version manager can put a command on PATH that only prints an error.
        if shutil.which(name) and not subprocess.run([name, "-c", ""]).returncode:
            return name
    raise CannotFuzz(
        f"atheris works with Python {PYTHONS[-1]} to {PYTHONS[0]}; none is on PATH."
    )


def _run(command: list[str]) -> None:
    # gcc would build it as well, but takes many times as long.
    compilers = {"CC": "clang", "CXX": "clang++"} if shutil.which("clang") else {}
    environment = {**compilers, **os.environ}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if not done.returncode:
        return
    (WORKSPACE / "install.log").write_text(done.stdout + done.stderr)
    if "clang" in done.stderr.lower() and not shutil.which("clang"):
        raise CannotFuzz(
            "atheris must be built here, and clang is not installed. On Debian and "
            "Ubuntu, install the package clang."
        )
    errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    why = errors[-1].strip() if errors else f"exit code {done.returncode}"
    raise CannotFuzz(
        f"atheris cannot be installed ({why}). All of it is in .fuzz/install.log."
    )
