"""Listening sockets: opened here, or inherited from systemd, before any process.

They are opened by the command itself, so that a port in use is one sentence with the
setting's name and not a traceback in a child; the planes get them already listening.
"""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from readback.cli.exits import CannotStart
from readback.config import Bind, Config

BACKLOG = 2048
# systemd passes sockets as the descriptors from this one on, sd_listen_fds(3).
_FIRST_INHERITED = 3
_REASONS = {
    errno.EADDRINUSE: "it is in use by another process",
    errno.EADDRNOTAVAIL: "it is not an address of this machine",
    errno.EACCES: "permission denied",
    errno.ENOENT: "there is no such directory",
}


@dataclass(frozen=True)
class Listeners:
    """The sockets of both planes."""

    api: list[socket.socket]
    ops: socket.socket
    cabinet: socket.socket

    def __iter__(self) -> Iterator[socket.socket]:
        yield from (*self.api, self.ops, self.cabinet)


def for_both(config: Config) -> Listeners:
    given = _inherited()
    cabinet = _claim(given, config.cabinet_bind, "READBACK_CABINET_BIND")
    api, ops = _for_api(given, config)
    return Listeners(api, ops, cabinet)


def for_api(config: Config) -> tuple[list[socket.socket], socket.socket]:
    return _for_api(_inherited(), config)


def for_cabinet(config: Config) -> socket.socket:
    given = _inherited()
    if len(given) == 1:
        return given[0]
    return _claim(given, config.cabinet_bind, "READBACK_CABINET_BIND")


def at_free_ports() -> Listeners:
    """Listen on loopback ports that the system chooses, and that stay taken."""
    free = Bind("127.0.0.1", 0)
    return Listeners([listen(free)], listen(free), listen(free))


def bound_to(listener: socket.socket) -> Bind:
    """Say where a socket listens, in the words of the settings."""
    name = listener.getsockname()
    return Bind("", 0, name) if isinstance(name, str) else Bind(name[0], name[1])


def listen(bind: Bind) -> socket.socket:
    """Open one socket, or raise OSError."""
    if bind.path:
        return _listen_unix(bind.path)
    # [::] is IPv6 alone: "0.0.0.0:8000,[::]:8000" asks for both, and gets both.
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    return socket.create_server((bind.host, bind.port), family=family, backlog=BACKLOG)


def try_out(bind: Bind) -> None:
    """Raise OSError if one cannot listen there; leave nothing behind."""
    listen(bind).close()
    if bind.path:
        Path(bind.path).unlink()


def reason(error: OSError) -> str:
    """Say in words for people why a socket could not be opened."""
    known = _REASONS.get(error.errno or 0)
    return known or error.strerror or str(error)


def _for_api(
    given: list[socket.socket], config: Config
) -> tuple[list[socket.socket], socket.socket]:
    ops = _claim(given, config.ops_bind, "READBACK_OPS_BIND")
    opened = [_open(bind, "READBACK_API_BIND") for bind in config.api_bind if not given]
    return given or opened, ops


def _inherited() -> list[socket.socket]:
    """Take the sockets of systemd's socket activation, if there are any.

    The variables go away with them: gunicorn would read them again, and take the
    sockets of the other plane, too.
    """
    process = os.environ.pop("LISTEN_PID", "")
    count = os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if process != str(os.getpid()) or not count.isdigit():
        return []
    descriptors = range(_FIRST_INHERITED, _FIRST_INHERITED + int(count))
    return [socket.socket(fileno=descriptor) for descriptor in descriptors]


def _claim(given: list[socket.socket], bind: Bind, setting: str) -> socket.socket:
    """Take the inherited socket of this address out of the list, or open one."""
    for position, listener in enumerate(given):
        if bound_to(listener) == bind:
            return given.pop(position)
    return _open(bind, setting)


def _open(bind: Bind, setting: str) -> socket.socket:
    try:
        return listen(bind)
    except OSError as error:
        raise CannotStart(
            f"{setting}: cannot listen on {bind}: {reason(error)}"
        ) from None


def _listen_unix(path: str) -> socket.socket:
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path)
        # Who may connect is for the permissions of the directory to say.
        os.chmod(path, 0o666)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_stale(path: str) -> None:
    """Remove a socket that nobody listens on.

    It is done here and not when a server stops: one that stops late would remove the
    socket of the one that took its place.
    """
    if not Path(path).exists():
        return
    if not stat.S_ISSOCK(os.stat(path).st_mode):
        raise FileExistsError(errno.EEXIST, "a file that is not a socket has its name")
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink()
            return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
