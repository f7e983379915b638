"""Programs of a Debian host that the tests cannot run: systemd, an editor, Caddy.

They do only what the commands of the pages need. Services and commands run as their
user, with the settings of their units, but may write anywhere.
"""

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from itertools import dropwhile
from pathlib import Path

from tests.support.waiting import PATIENCE, wait_until

UNITS = Path("/etc/systemd/system")
STATE = Path("/var/lib/readback")
RUNNING = Path("/run/stand-ins")
CADDYFILE = Path("/etc/caddy/Caddyfile")
CERTIFICATES = Path("/etc/caddy/certificates")
_FIRST_SOCKET = 3


def systemctl(verb: str, *names: str) -> None:
    """Start, stop and reload units, which are started in the given order."""
    names = tuple(name for name in names if name != "--now")
    if verb == "daemon-reload":
        return
    if (verb, *names) == ("reload", "caddy"):
        _reload_caddy()
        return
    services = [
        each.removesuffix(".service") for each in names if ".socket" not in each
    ]
    if verb in ("stop", "disable", "restart"):
        for name in services:
            _stop(name)
    if verb in ("start", "enable", "restart"):
        for name in services:
            _start(name)


def systemd_run(*arguments: str) -> None:
    """Replace this process by a command that runs as a transient unit."""
    options = [each for each in arguments if each.startswith("--property=")]
    properties = [each.removeprefix("--property=") for each in options]
    command = list(dropwhile(lambda each: each.startswith("--"), arguments))
    _become("\n".join(properties), " ".join(command))


def _start(name: str) -> None:
    """Start a service after what it wants."""
    unit = (UNITS / f"{name}.service").read_text()
    for wanted in re.findall(r"^Wants=(\S+)\.service$", unit, re.M):
        _start(wanted)
    RUNNING.mkdir(exist_ok=True)
    with (RUNNING / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            ["run-unit", name],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    if "oneshot" in _values(unit, "Type"):
        assert process.wait(PATIENCE) == 0, (RUNNING / f"{name}.log").read_text()
    else:
        (RUNNING / name).write_text(str(process.pid))


def _stop(name: str) -> None:
    path = RUNNING / name
    if path.exists():
        pid = int(path.read_text())
        os.kill(pid, signal.SIGTERM)
        wait_until(
            lambda: not Path(f"/proc/{pid}/cmdline").read_bytes(), f"{name} ended"
        )
        path.unlink()


def run_unit(name: str) -> None:
    """Become the process of a service, with its listening sockets."""
    unit = (UNITS / f"{name}.service").read_text()
    sockets = UNITS / f"{name}.socket"
    addresses = _values(sockets.read_text(), "ListenStream") if sockets.exists() else []
    places = [address.rpartition(":") for address in addresses]
    listeners = [
        socket.create_server((host, int(port)), backlog=2048)
        for host, _, port in places
    ]
    # Copies with high numbers first: a socket may have the number of another.
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, 50) for each in listeners]
    for number, copy in enumerate(copies, _FIRST_SOCKET):
        os.dup2(copy, number)
    for each in listeners:
        each.detach()
    if addresses:
        os.environ["LISTEN_FDS"] = str(len(addresses))
    _become(unit, " ".join(_values(unit, "ExecStart")))


def _become(unit: str, command: str) -> None:
    [user] = _values(unit, "User")
    [directory] = _values(unit, "WorkingDirectory")
    for name in _values(unit, "StateDirectory"):
        place = Path("/var/lib", name)
        place.mkdir(mode=0o700, exist_ok=True)
        shutil.chown(place, user, user)
    kept = {"PATH": os.environ["PATH"], "LISTEN_FDS": os.environ.get("LISTEN_FDS", "")}
    environment = {**kept, "TERM": "dumb", **_settings(unit)}
    os.chdir(directory)
    identity = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]
    # Only now is the number of the process known, which sockets are passed with.
    shell = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *command.split()]
    os.execvpe(identity[0], [*identity, *shell], environment)


def _settings(unit: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _values(unit, "EnvironmentFile"):
        path = Path(name.removeprefix("-"))
        if path.exists() or not name.startswith("-"):
            lines = re.findall(r"^(\w+)=(.*)$", path.read_text(), re.M)
            found.update(lines)
    for names in _values(unit, "UnsetEnvironment"):
        for name in names.split():
            found.pop(name, None)
    return found


def _values(unit: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", unit, re.M)


def _reload_caddy() -> None:
    """Put HAProxy in the place of Caddy: the same names, addresses and keep-alive."""
    text = CADDYFILE.read_text()
    sites = re.findall(
        r"^(\S+) \{\n\treverse_proxy (\S+) \{(.*?)^\}", text, re.M | re.S
    )
    assert len(sites) == 2, text
    keepalive = set(re.findall(r"\tkeepalive (\w+)\n", text))
    assert len(keepalive) == 1, text
    lines = ["defaults", "mode http", "timeout connect 2s", "timeout client 60s"]
    lines += [f"timeout server {keepalive.pop()}", "frontend caddy"]
    lines += [f"bind :443 ssl crt {CERTIFICATES} alpn h2,http/1.1"]
    lines += ["option forwardfor", "http-request set-header X-Forwarded-Proto https"]
    lines += [f"use_backend {name} if {{ hdr(host) -i {name} }}" for name, *_ in sites]
    for name, address, _ in sites:
        lines += [f"backend {name}", f"server one {address}"]
    path = CADDYFILE.with_name("haproxy.cfg")
    path.write_text("\n".join(lines) + "\n")
    subprocess.run(["haproxy", "-q", "-D", "-f", path], check=True, timeout=PATIENCE)


def edit(path: str) -> None:
    """Replace the mail server, as the page asks."""
    file = Path(path)
    text, replaced = re.subn(
        r"^READBACK_SMTP_URL=.*$",
        f"READBACK_SMTP_URL={os.environ['MAIL_SERVER']}",
        file.read_text(),
        flags=re.M,
    )
    assert replaced == 1
    file.write_text(text)


def apt(*arguments: str) -> None:
    """Install nothing; only the words of the command are checked."""
    assert arguments[:2] == ("install", "--yes"), arguments


def runuser(*arguments: str) -> None:
    """Become a client of PostgreSQL, as its superuser."""
    user, separator, *command = arguments
    assert (user, separator) == ("--user=postgres", "--"), arguments
    os.environ |= {"PGHOST": "/run/postgresql", "PGUSER": "postgres"}
    command[0] = f"{os.environ['POSTGRESQL_PROGRAMS']}/{command[0]}"
    os.execv(command[0], command)


PROGRAMS: dict[str, Callable[..., None]] = {
    "systemctl": systemctl,
    "systemd-run": systemd_run,
    "editor": edit,
    "apt": apt,
    "runuser": runuser,
    "run-unit": run_unit,
}


def install(folder: Path) -> None:
    """Put the programs into a folder for the PATH."""
    root = Path(__file__).parents[2]
    for name in PROGRAMS:
        path = folder / name
        path.write_text(
            f"#!/bin/sh\nPYTHONPATH={root} exec {sys.executable}"
            f' -m tests.procedures.stand_ins {name} "$@"\n'
        )
        path.chmod(0o755)


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
