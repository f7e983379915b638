"""A client that sends but does not read: the server stops reading from it.

Memory per connection stays bounded. When the client reads again, all its requests are
answered; after the drain time-out it is disconnected, whatever its state.
"""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from readback.http.flow_control import LINGER_SECONDS
from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import post, post_body
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection, Endpoint

LARGE = post_body(b"x" * 60_000)
DRAIN = 10.0
LIMITS = limits(drain_seconds=DRAIN, idle_seconds=10 * DRAIN)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A listener whose time passes only when the test says so."""
    with listening(limits=LIMITS, own_time=True) as listener:
        yield listener


def narrow(endpoint: Endpoint) -> socket.socket:
    """Return a socket with a small receive buffer, to cause back-pressure early."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(PATIENCE)
    sock.connect((endpoint.host, endpoint.port))
    return sock


def fill(listener: Listener, sock: socket.socket, raw: bytes) -> int:
    """Send until the server has stopped reading; return the number of bytes sent."""
    sent = 0

    def is_full() -> bool:
        nonlocal sent
        try:
            while True:
                sent += sock.send(raw[sent % len(raw) :])
        except BlockingIOError:
            connections = tuple(listener.registry.connections)
            return not all(each._transport.is_reading() for each in connections)

    sock.setblocking(False)
    wait_until(is_full, "the server does not read any more")
    sock.settimeout(PATIENCE)
    return sent


@pytest.mark.parametrize("ending", ["", "half-close", "close", "garbage", "too large"])
def test_a_client_that_never_reads_is_disconnected(
    listener: Listener, ending: str
) -> None:
    last = {
        "close": post(b"Connection: close"),
        "garbage": b"garbage\r\n\r\n",
        "too large": post(b"Content-Length: 2000000"),
    }.get(ending, b"")
    with narrow(listener.endpoint) as sock:
        # Enough to fill the kernel buffers, ending with a complete request.
        sender = threading.Thread(target=_send_quietly, args=(sock, LARGE * 60 + last))
        sender.start()
        wait_until(lambda: listener.handler.answered > 5, "five requests are answered")
        if ending == "half-close":
            sock.shutdown(socket.SHUT_WR)
        assert seconds_until_gone(listener) < 5 * DRAIN
        sender.join(PATIENCE)


@pytest.mark.parametrize("ending", ["half-close", "close", "garbage"])
def test_an_unread_last_answer_does_not_keep_its_connection_open(
    listener: Listener, ending: str
) -> None:
    # Too little to pause writing, so only the closing code can notice.
    last = {"close": post(b"Connection: close"), "garbage": b"x\r\n\r\n"}.get(
        ending, b""
    )
    with narrow(listener.endpoint) as sock:
        _send_unread_answer(listener, sock, last)
        if ending == "half-close":
            sock.shutdown(socket.SHUT_WR)
            wait_until(
                lambda: _connection(listener)._transport.is_closing(),
                "the server closes",
            )
        assert DRAIN <= seconds_until_gone(listener) < 5 * DRAIN


def test_a_slow_reader_of_the_last_answer_gets_all_of_it(listener: Listener) -> None:
    # Longer than the connection lingers; only the drain time-out may end it.
    with narrow(listener.endpoint) as sock:
        _send_unread_answer(listener, sock, b"x\r\n\r\n")
        assert 2 * LINGER_SECONDS < DRAIN
        listener.pass_time(2 * LINGER_SECONDS)
        connection = Connection(sock)
        assert len(connection.read_answer().body) == 50_000
        assert connection.read_answer().status == 400
        assert connection.rest() == b""


def seconds_until_gone(listener: Listener) -> int:
    """Let time pass until the server gives up the connection; return how long."""
    passed = 0

    def is_gone() -> bool:
        nonlocal passed
        listener.pass_time(1)
        passed += 1
        return not listener.registry.connections

    wait_until(is_gone, "the connection is gone")
    return passed


def _send_unread_answer(listener: Listener, sock: socket.socket, last: bytes) -> None:
    """Cause an answer that fits into no buffer of the kernel, and send the last bytes.

    The server has read them at the end.
    """
    wait_until(lambda: listener.registry.connections, "the connection is open")
    server_end = _connection(listener)._transport.get_extra_info("socket")
    server_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    raw = post_body(b"x" * 50_000) + last
    sock.sendall(raw)
    wait_until(lambda: listener.received >= len(raw), "the server has read it")


def _connection(listener: Listener) -> Any:
    [only] = listener.registry.connections
    return only


def _send_quietly(sock: socket.socket, raw: bytes) -> None:
    try:
        sock.sendall(raw)
    except OSError:
        return
