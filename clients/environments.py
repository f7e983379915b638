"""The environments in which the clients run.

- `dev`: the environment of this project, with the clients that its tests use.
- `node`: the packages of node/package-lock.json.
- `system`: a program on PATH, such as curl.
- any other name: the locked versions of python/NAME.txt, installed by uv, because these
  clients need versions that conflict.

Whatever cannot be installed raises `NotInstalled` with the reason.
"""

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Lock

from clients.drivers import Client

_HERE = Path(__file__).parent
NODE = _HERE / "node"
# One file of locked versions for each environment.
LOCKS = _HERE / "python"
# Not under version control: the installed environments.
WORKSPACE = _HERE.parent / ".clients"
NODE_MODULES = WORKSPACE / "node" / "node_modules"
INSTALL_SECONDS = 900
# Several clients share an environment, which is installed once.
_INSTALLING = Lock()


class NotInstalled(Exception):
    """A client cannot run on this machine; the message says why."""


def command(client: Client) -> list[str]:
    """Install a client, if necessary; return the command that runs its driver."""
    with _INSTALLING:
        return _command(client)


def _command(client: Client) -> list[str]:
    match client.environment:
        case "dev":
            # -P keeps the folder of the drivers off Python's path.
            return [sys.executable, "-P", str(client.driver)]
        case "node":
            # Node looks for packages beside the module and in the folders above it.
            return [node(), str(shutil.copy2(client.driver, NODE_MODULES.parent))]
        case "system":
            _require(client.package)
            return [_require("sh"), str(client.driver)]
        case name:
            return [str(python(name)), "-P", str(client.driver)]


def version(client: Client) -> str:
    """Return the version of an installed client."""
    match client.environment:
        case "dev":
            return _package_version(Path(sys.executable), client.package)
        case "node" if client.package:
            package = NODE_MODULES / client.package / "package.json"
            described = package.read_text(encoding="utf-8")
            return str(json.loads(described)["version"])
        case "node":
            return _first_number(_run([node(), "--version"]))
        case "system":
            return _first_number(_run([client.package, "--version"]))
        case name:
            return _package_version(python(name), client.package)


@cache
def python(name: str) -> Path:
    """Install an environment, unless it is up to date; return its Python."""
    folder = WORKSPACE / name
    installed = folder / "bin" / "python"
    lock = LOCKS / f"{name}.txt"
    uv = [sys.executable, "-m", "uv", "--no-config"]
    venv = [*uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable]
    _run([*venv, str(folder)])
    sync = [
        *uv,
        "pip",
        "sync",
        "--quiet",
        "--require-hashes",
        "--python",
        str(installed),
    ]
    _run([*sync, str(lock)])
    return installed


@cache
def node() -> str:
    """Install the Node packages; return the path of Node."""
    program = _require("node")
    npm = _require("npm")
    shutil.copytree(NODE, NODE_MODULES.parent, dirs_exist_ok=True)
    prefix = ["--prefix", str(NODE_MODULES.parent)]
    # Not `ci`, which requires optional packages to be locked for every platform.
    _run([npm, "install", "--ignore-scripts", "--silent", "--prefer-offline", *prefix])
    return program


def _require(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise NotInstalled(f"{program} is not on PATH")
    return found


def _package_version(interpreter: Path, package: str) -> str:
    if not package:
        return _first_number(_run([str(interpreter), "--version"]))
    code = f"from importlib.metadata import version; print(version('{package}'))"
    return _run([str(interpreter), "-c", code]).strip()


def _first_number(text: str) -> str:
    found = re.search(r"\d+(\.\d+)+", text)
    return found[0] if found else "unknown"


def _run(words: list[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{Path(words[0]).name}: {error}") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise NotInstalled(f"{Path(words[0]).name} {words[1]}: {lines[-1].strip()}")
    return done.stdout
