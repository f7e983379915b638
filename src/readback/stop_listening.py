"""How a listening socket stops accepting without resetting anyone.

When the last copy of a listening socket is closed, the kernel resets the connections
that nobody has accepted yet, and those whose handshake is under way. Their clients may
have sent a request already. So new connections are turned away first; then the queue
can be emptied, and closing harms nobody. Nothing here knows what is served.
"""

import ctypes
import mmap
import select
import socket
import struct
import sys
from contextlib import suppress

_SO_ATTACH_FILTER = 26  # from <asm-generic/socket.h>; Python does not name it
# A program for the kernel's packet filter: (code, skip if true, skip if false, value).
_DROP_SYN = (
    (0x30, 0, 0, 13),  # load byte 13 of the TCP header: the flags
    (0x54, 0, 0, 0x12),  # keep SYN and ACK
    (0x15, 0, 1, 0x02),  # only SYN?
    (0x06, 0, 0, 0),  # then drop the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # else keep it
)


class ListenerHold:
    """Whether a parent process listens, too, and starts a plane again that ends.

    Then the plane must turn nobody away: clients wait in the queue. The parent and the
    planes share this memory; make it before they are forked.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1)
        self._memory[0] = 1

    @property
    def is_held(self) -> bool:
        return bool(self._memory[0])

    def release(self) -> None:
        """Say that planes that end now are not started again."""
        self._memory[0] = 0


def is_ours(listener: socket.socket) -> bool:
    """Return whether nobody else goes on listening when we stop, as systemd does.

    A socket of systemd is inheritable because it came through exec; Python opens no
    such sockets.
    """
    return not listener.get_inheritable()


def turn_away(listener: socket.socket) -> None:
    """Let no new connection reach the queue of a listening socket, in any process.

    Must not be called on a socket that will go on listening. A TCP client whose SYN is
    dropped sends it again after a second, and is then refused.
    """
    with suppress(OSError):  # then the clients of the last microseconds are reset
        if listener.family == socket.AF_UNIX:
            listener.shutdown(socket.SHUT_RD)
        elif sys.platform == "linux":
            _attach_filter(listener)


def is_listening(listener: socket.socket) -> bool:
    """Return whether no process has called `refuse` on this socket."""
    return bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def refuse(listener: socket.socket) -> None:
    """Refuse new connections, even if a process that hangs keeps the socket open.

    Closing our copy would not: the clients of a socket that turns them away would wait
    until the last copy is closed. The connections in the queue are reset.
    """
    with suppress(OSError):  # it is not connected; Linux stops listening all the same
        listener.shutdown(socket.SHUT_RDWR)


def is_anyone_waiting(listener: socket.socket) -> bool:
    """Return whether a connection has not been accepted yet."""
    if listener.family == socket.AF_UNIX:
        return False  # cannot be seen any more once it turns clients away
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return bool(poll.poll(0))


def _attach_filter(listener: socket.socket) -> None:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in _DROP_SYN)
    memory = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(_DROP_SYN), ctypes.addressof(memory))
    listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
