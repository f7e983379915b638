"""The peers of peers.toml, and bringing them onto this machine.

Everything goes into .bench/ beside the project's own environment, from locked
versions. What cannot be installed raises `Absent` with the reason; nobody is left out
in silence.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / "peers"
ROOT = HERE.parent
HOME = ROOT / ".bench"
VENV = HOME / "venv"
NPM = HOME / "npm"
GO_PROGRAM = HOME / "go_http"
REQUIREMENTS = ROOT / "requirements" / "bench.txt"


class Absent(Exception):
    """A peer, or a tool, that is not to be had here; the message says why."""


@dataclass(frozen=True)
class Peer:
    """One row of peers.toml, whose header says what the fields mean."""

    name: str
    title: str
    family: str
    install: str
    start: list[str]
    version: dict[str, object]
    key: str
    echoes: bool
    program: str = ""
    package: str = ""
    files: list[str] = field(default_factory=list)
    prepare: list[list[str]] = field(default_factory=list)
    key_made: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def load() -> dict[str, Peer]:
    with (HERE / "peers.toml").open("rb") as file:
        rows = tomllib.load(file)["peer"]
    return {row["name"]: Peer(**row) for row in rows}


def install(peer: Peer) -> None:
    """Bring a peer's programs here, unless they are here already."""
    installers: dict[str, Callable[[], None]] = {
        "none": lambda: None,
        "system": lambda: need_program(peer.program, peer.package or peer.program),
        "python": _install_python,
        "npm": _install_npm,
        "go": _build_go,
    }
    installers[peer.install]()


def version_of(peer: Peer) -> str:
    """Say which version is measured: the first number in what the peer says."""
    return _first_number(_what_it_says(peer))


def need_program(program: str, package: str) -> None:
    """Install a Debian package when that is possible; else say what is missing."""
    if shutil.which(program):
        return
    if not shutil.which("apt-get"):
        raise Absent(f"{program} is not installed")
    if os.geteuid() != 0:
        raise Absent(f"{program} is not installed; as root: apt-get install {package}")
    _run(["apt-get", "update", "--quiet"])
    _run(["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", package])


def _install_python() -> None:
    wanted = REQUIREMENTS.read_text()
    if _is_stamped(VENV, wanted):
        return
    _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--require-hashes", "-r", str(REQUIREMENTS)])
    _stamp(VENV, wanted)


def _install_npm() -> None:
    if not shutil.which("node") or not shutil.which("npm"):
        raise Absent("node and npm are not installed")
    wanted = (PEERS / "package-lock.json").read_text()
    if _is_stamped(NPM, wanted):
        return
    NPM.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(PEERS / name, NPM / name)
    _run(["npm", "ci", "--prefix", str(NPM)])
    _stamp(NPM, wanted)


def _build_go() -> None:
    if not shutil.which("go"):
        raise Absent("go is not installed")
    HOME.mkdir(exist_ok=True)
    _run(["go", "build", "-o", str(GO_PROGRAM), "."], folder=PEERS / "go_http")


def _is_stamped(folder: Path, wanted: str) -> bool:
    stamp = folder / "installed"
    return stamp.is_file() and stamp.read_text() == wanted


def _stamp(folder: Path, wanted: str) -> None:
    (folder / "installed").write_text(wanted)


def _run(command: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise Absent(f"{Path(command[0]).name} {command[1]} failed: {said[-1]}")
    return done.stdout + done.stderr


def _what_it_says(peer: Peer) -> str:
    match peer.version:
        case {"command": [*command]}:
            words = [str(word).replace("@here@", sys.executable) for word in command]
            return _run(words)
        case {"python": str(name)}:
            code = f"from importlib.metadata import version; print(version('{name}'))"
            return _run([str(VENV / "bin" / "python"), "-c", code])
        case {"npm": str(name)}:
            package = NPM / "node_modules" / name / "package.json"
            return str(json.loads(package.read_text())["version"])
    raise ValueError(f"peers.toml does not say how to ask {peer.name} for its version")


def _first_number(text: str) -> str:
    found = re.search(r"\d+(\.\d+)+", text)
    return found[0] if found else "unknown"
