"""Listening sockets: their queue, and how to close one without resetting clients.

When the last copy of a listening socket is closed, the kernel resets the connections
that are not accepted yet, and those whose handshake is under way, although their
clients may have sent a request. So new connections are turned away first; then the
queue is emptied, and closing resets no one.
"""

import os
import select
import socket
import sys
from contextlib import suppress

# How many connections may wait to be accepted.
BACKLOG = 2048
# From <linux/in.h> and <linux/in6.h>. The kernel drops packets that arrive with a lower
# hop limit; senders begin with 64 or 128.
_IP_MINTTL = 21
_IPV6_MINHOPCOUNT = 73
_MOST_HOPS = 255
_DESCRIPTORS = "/proc/self/fd"  # a sandbox may have no /proc


def is_ours(listener: socket.socket) -> bool:
    """Return whether no other process, such as systemd, listens after we stop.

    A socket from systemd is inheritable, because it was passed through exec.
    """
    return not listener.get_inheritable()


def turn_away(listener: socket.socket) -> None:
    """Let no new connection reach the queue of a listening socket, in any process.

    A TCP client whose SYN is dropped sends it again after a second, and is then
    refused. A handshake that is under way is completed; call `let_in` when it is
    accepted.
    """
    with suppress(OSError):  # then the clients of the last microseconds are reset
        if listener.family == socket.AF_UNIX:
            listener.shutdown(socket.SHUT_RD)
        elif sys.platform == "linux":
            _require_hops(listener, _MOST_HOPS)


def let_in() -> None:
    """Let the packets of this process's connections through again.

    Connections inherit the filter of their listening socket. Clients resend the packets
    that it has dropped.
    """
    if sys.platform != "linux" or not os.path.isdir(_DESCRIPTORS):
        return
    for descriptor in map(int, os.listdir(_DESCRIPTORS)):
        with suppress(OSError):  # it is not a socket, or is closed by now
            connection = socket.socket(fileno=descriptor)
            try:
                if not connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    _require_hops(connection, 0)
            finally:
                connection.detach()  # it belongs to other code


def is_anyone_waiting(listener: socket.socket) -> bool:
    """Return whether a connection has not been accepted yet."""
    if listener.family == socket.AF_UNIX:
        return False  # not visible once it turns clients away
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    # Once the socket refuses clients, it also reports a hang-up.
    return any(seen == select.POLLIN for _, seen in poll.poll(0))


def refuse(listener: socket.socket) -> None:
    """Close a listening socket for all processes, even for one that hangs."""
    with suppress(OSError):  # another process was first, or there is no such call
        listener.shutdown(socket.SHUT_RD)


def _require_hops(connection: socket.socket, hops: int) -> None:
    if connection.family == socket.AF_INET6:
        connection.setsockopt(socket.IPPROTO_IPV6, _IPV6_MINHOPCOUNT, hops)
    # An IPv6 socket may have IPv4 clients, too.
    connection.setsockopt(socket.IPPROTO_IP, _IP_MINTTL, hops)
