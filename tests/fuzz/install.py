"""The fuzzer's environment: .fuzz/venv, with locked versions.

Where atheris has no wheel, it is built from source. This takes a few minutes and needs
clang with libFuzzer, which is in the package clang on Debian and Ubuntu.
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
# The Python versions that atheris supports; it depends on their bytecode.
PYTHONS = ("3.13", "3.12", "3.11")


def install() -> None:
    """Install the fuzzer, unless it is installed already."""
    marker = VENV / "installed"
    wanted = BUILD_REQUIREMENTS.read_text() + REQUIREMENTS.read_text()
    if marker.is_file() and marker.read_text() == wanted:
        return
    print("Installing atheris in .fuzz/venv. This may take five minutes.", flush=True)
    _run(_supported_python(), "-m", "venv", "--clear", str(VENV))
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    hashed = [*pip, "--require-hashes"]
    _run(*hashed, "-r", str(BUILD_REQUIREMENTS))
    # With build isolation, pip would download a build backend without its hash.
    _run(*hashed, "--no-build-isolation", "-r", str(REQUIREMENTS))
    _run(*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    marker.write_text(wanted)


def _supported_python() -> str:
    if f"{sys.version_info.major}.{sys.version_info.minor}" in PYTHONS:
        return sys.executable
    found = [path for version in PYTHONS if (path := shutil.which(f"python{version}"))]
    if not found:
        sys.exit(f"atheris needs one of Python {', '.join(PYTHONS)}; none is on PATH.")
    return found[0]


def _run(*command: str) -> None:
    # gcc can also build atheris, but takes many times as long.
    compilers = {"CC": "clang", "CXX": "clang++"} if shutil.which("clang") else {}
    if subprocess.run(command, env={**compilers, **os.environ}).returncode:
        sys.exit("The fuzzer cannot be installed here.")
