"""Listening sockets, opened by the command or inherited from systemd.

The command opens them before it starts any process, so that a port in use is reported
in one sentence that names the setting, not by a traceback in a child process. The
API and the cabinet receive sockets that are already listening.
"""

import errno
import os
import socket
from pathlib import Path

from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.processes.listening import BACKLOG
from readback.setting_values import Bind

# The API's sockets (the last is the ops listener's), and the cabinet's.
Listeners = tuple[list[socket.socket], socket.socket]

_FIRST_INHERITED = 3  # systemd's SD_LISTEN_FDS_START


def open_all(config: Config) -> Listeners:
    inherited = _inherited()
    cabinet = _open("READBACK_CABINET_BIND", config.cabinet_bind, inherited)
    return open_for_api(config, inherited), cabinet


def open_for_api(
    config: Config, inherited: list[socket.socket] | None = None
) -> list[socket.socket]:
    inherited = _inherited() if inherited is None else inherited
    ops = _open("READBACK_OPS_BIND", config.ops_bind, inherited)
    api = inherited or [_open("READBACK_API_BIND", b, []) for b in config.api_bind]
    return [*api, ops]


def open_for_cabinet(config: Config) -> socket.socket:
    inherited = _inherited()
    if len(inherited) == 1:
        return inherited[0]
    return _open("READBACK_CABINET_BIND", config.cabinet_bind, inherited)


def bind_of(listener: socket.socket) -> Bind:
    """Return a socket's address in the form that the settings use."""
    name = listener.getsockname()
    return Bind("", 0, name) if isinstance(name, str) else Bind(name[0], name[1])


def _inherited() -> list[socket.socket]:
    """Return the sockets passed by systemd's socket activation, if any."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = int(os.environ.get("LISTEN_FDS", "0"))
    descriptors = range(_FIRST_INHERITED, _FIRST_INHERITED + count)
    return [socket.socket(fileno=descriptor) for descriptor in descriptors]


def _open(setting: str, bind: Bind, inherited: list[socket.socket]) -> socket.socket:
    """Remove the socket with this address from the list, or open a new one."""
    for position, listener in enumerate(inherited):
        if bind_of(listener) == bind:
            return inherited.pop(position)
    try:
        return _listen(bind)
    except OSError as error:
        raise CannotStart(
            f"{setting}: cannot listen on {bind}: {error.strerror or error}. Set it to "
            "another address, or stop the program that listens there."
        ) from None


def _listen(bind: Bind) -> socket.socket:
    """Open a listening socket; raise OSError if that is not possible."""
    if bind.path:
        return _listen_unix(bind.path)
    # [::] means IPv6 only, so that "0.0.0.0:8000,[::]:8000" can open both.
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    return socket.create_server((bind.host, bind.port), family=family, backlog=BACKLOG)


def _listen_unix(path: str) -> socket.socket:
    """Listen on a path; first remove a socket on which no process listens.

    A server leaves its socket file behind when it stops. Otherwise, a server that stops
    late would remove its successor's file.
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
    listener.bind(path)
    # The directory's permissions decide which users can connect.
    os.chmod(path, 0o666)
    listener.listen(BACKLOG)
    return listener
