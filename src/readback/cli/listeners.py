"""Listening sockets, opened by the command or inherited from systemd.

The command opens them before it starts any process, so that a port in use is one
sentence with the name of the setting, not a traceback in a child process. The planes
receive sockets that are already listening.
"""

import errno
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from readback.api.shared.memory import place_count
from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.processes.listening import BACKLOG
from readback.setting_values import Bind


@dataclass(frozen=True)
class Listeners:
    """The sockets of both planes."""

    api: list[socket.socket]
    ops: socket.socket
    cabinet: socket.socket


def open_all(config: Config) -> Listeners:
    inherited = _inherited()
    cabinet = _open("READBACK_CABINET_BIND", config.cabinet_bind, inherited)
    return Listeners(*_api_and_ops(inherited, config), cabinet)


def open_for_api(config: Config) -> tuple[list[socket.socket], socket.socket]:
    """Return the sockets of the API and the socket of the ops listener."""
    return _api_and_ops(_inherited(), config)


def open_for_cabinet(config: Config) -> socket.socket:
    inherited = _inherited()
    if len(inherited) == 1:
        return inherited[0]
    return _open("READBACK_CABINET_BIND", config.cabinet_bind, inherited)


def bind_of(listener: socket.socket) -> Bind:
    """Return the address of a socket in the form that the settings use."""
    name = listener.getsockname()
    return Bind("", 0, name) if isinstance(name, str) else Bind(name[0], name[1])


def listen(bind: Bind, *, reuse_port: bool = False) -> socket.socket:
    """Open a listening socket; raise OSError if that is not possible."""
    if bind.path:
        return _listen_unix(bind.path)
    # [::] means IPv6 only, so that "0.0.0.0:8000,[::]:8000" can open both.
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    return socket.create_server(
        (bind.host, bind.port), family=family, backlog=BACKLOG, reuse_port=reuse_port
    )


def open_beside(first: socket.socket, bind: Bind, count: int) -> list[socket.socket]:
    """Open more sockets with the address of the first, to share its connections.

    The first is listening alone when this is called, and did not have the option that
    lets sockets share an address. So no second server can have it, either.
    """
    # Elsewhere the kernel does not distribute connections.
    if bind.path or sys.platform != "linux":
        return []
    same = Bind(bind.host, first.getsockname()[1])
    found: list[socket.socket] = []
    try:
        for _ in range(count):
            first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            found.append(listen(same, reuse_port=True))
    except OSError:  # then all workers share the first
        for listener in found:
            listener.close()
        return []
    return found


def check_can_listen(bind: Bind) -> None:
    """Raise OSError if the address cannot be listened on; leave no socket behind."""
    listen(bind).close()
    if bind.path:
        Path(bind.path).unlink()


def _api_and_ops(
    inherited: list[socket.socket], config: Config
) -> tuple[list[socket.socket], socket.socket]:
    ops = _open("READBACK_OPS_BIND", config.ops_bind, inherited)
    if inherited:
        return inherited, ops
    api: list[socket.socket] = []
    for bind in config.api_bind:
        first = _open("READBACK_API_BIND", bind, [])
        api += [first, *open_beside(first, bind, place_count(config) - 1)]
    return api, ops


def _inherited() -> list[socket.socket]:
    """Return the sockets of systemd's socket activation, if there are any.

    This removes the variables: gunicorn would read them again and take the sockets of
    the other plane, too.
    """
    from gunicorn import systemd

    first = systemd.SD_LISTEN_FDS_START
    descriptors = range(first, first + systemd.listen_fds())
    return [socket.socket(fileno=descriptor) for descriptor in descriptors]


def _open(setting: str, bind: Bind, inherited: list[socket.socket]) -> socket.socket:
    """Remove the socket with this address from the list, or open a new one."""
    for position, listener in enumerate(inherited):
        if bind_of(listener) == bind:
            return inherited.pop(position)
    try:
        return listen(bind)
    except OSError as error:
        raise CannotStart(
            f"{setting}: cannot listen on {bind}: {error.strerror or error}."
        ) from None


def _listen_unix(path: str) -> socket.socket:
    """Listen on a path; first remove a socket on which no process listens.

    A server does not remove its socket when it stops: if it stops late, it would
    remove the socket of the server that replaced it.
    """
    if Path(path).exists():
        if not Path(path).is_socket():
            raise FileExistsError(errno.EEXIST, "the file exists and is not a socket")
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(path)
            except ConnectionRefusedError:
                Path(path).unlink()
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path)
        # The permissions of the directory decide which users can connect.
        os.chmod(path, 0o666)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
