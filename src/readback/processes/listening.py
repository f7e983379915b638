"""Listening sockets, and how to close them without resetting clients.

When the last copy of a listening socket is closed, the kernel resets connections that
are not accepted yet or whose handshake is under way, even if their clients have sent a
request. So new connections are turned away first; then the queue is emptied, so
that closing the socket does not reset any client.
"""

import os
import select
import socket
import sys
from contextlib import suppress

# How many connections may wait to be accepted.
BACKLOG = 2048
# From <linux/in.h> and <linux/in6.h>. The kernel drops packets with a lower hop limit
# than this option; senders usually begin with 64 or 128.
_IP_MINTTL = 21
_IPV6_MINHOPCOUNT = 73
_MOST_HOPS = 255
_DESCRIPTORS = "/proc/self/fd"  # missing in some sandboxes


def turn_away(listener: socket.socket) -> None:
    """Let no new connection into the queue of a listening socket, in any process.

    A TCP client whose SYN is dropped repeats it after a second and is then refused. A
    handshake that is under way is completed; its connection needs `let_in` once it is
    accepted.
    """
    with suppress(OSError):  # if this fails, a few clients are reset
        if listener.family == socket.AF_UNIX:
            listener.shutdown(socket.SHUT_RD)
        elif sys.platform == "linux":
            _require_hops(listener, _MOST_HOPS)


def let_in() -> None:
    """Accept the packets of this process's connections again.

    A connection inherits the filter of its listening socket. Clients retransmit
    packets that were dropped.
    """
    if sys.platform != "linux" or not os.path.isdir(_DESCRIPTORS):
        return
    for descriptor in map(int, os.listdir(_DESCRIPTORS)):
        with suppress(OSError):  # not a socket, or closed in the meantime
            connection = socket.socket(fileno=descriptor)
            try:
                if not connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    _require_hops(connection, 0)
            finally:
                connection.detach()  # other code owns the descriptor


def is_anyone_waiting(listener: socket.socket) -> bool:
    """Return whether a connection has not been accepted yet."""
    if listener.family == socket.AF_UNIX:
        return False  # this cannot be seen after `turn_away`
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    # After `refuse`, the socket also reports a hang-up.
    return any(seen == select.POLLIN for _, seen in poll.poll(0))


def refuse(listener: socket.socket) -> None:
    """Close a listening socket for all processes, including one that hangs."""
    with suppress(OSError):  # done by another process, or not supported
        listener.shutdown(socket.SHUT_RD)


def _require_hops(connection: socket.socket, hops: int) -> None:
    if connection.family == socket.AF_INET6:
        connection.setsockopt(socket.IPPROTO_IPV6, _IPV6_MINHOPCOUNT, hops)
    # An IPv6 socket may accept IPv4 clients, too.
    connection.setsockopt(socket.IPPROTO_IP, _IP_MINTTL, hops)
