"""A client that sends but does not read: the server stops reading from it.

Memory per connection stays bounded. When the client reads again, all its requests are
answered; after the drain time-out it is disconnected, whatever its state.
"""

import socket
import threading

import pytest

from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import GOOD, post, post_body
from tests.support.waiting import wait_until
from tests.support.wire import Connection, Endpoint

LARGE = post_body(b"x" * 60_000)


def narrow(endpoint: Endpoint) -> socket.socket:
    """Return a socket with a small receive buffer, to cause back-pressure early."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(10)
    sock.connect((endpoint.host, endpoint.port))
    return sock


def fill(sock: socket.socket, raw: bytes) -> int:
    """Send without reading until the socket blocks; return the number of bytes sent."""
    sent = 0
    sock.settimeout(0.5)
    try:
        while sent < 64 * 1024 * 1024:
            sent += sock.send(raw[sent % len(raw) :])
    except TimeoutError:
        pass
    sock.settimeout(10)
    return sent


def test_a_client_that_does_not_read_is_not_read_from(echo_listener: Listener) -> None:
    before = echo_listener.handler.answered
    with narrow(echo_listener.endpoint) as sock:
        sent = fill(sock, LARGE)
        answered = echo_listener.handler.answered - before
        # The kernel buffers hold a few megabytes; the server never read the rest.
        assert answered < 200
        connection = Connection(sock)
        for _ in range(answered + 1):
            assert len(connection.read_answer().body) == 60_000
        assert sent // len(LARGE) >= answered
        # After reading resumes, every complete request is answered.
        whole = sent // len(LARGE)
        for _ in range(whole - answered - 1):
            assert len(connection.read_answer().body) == 60_000


def test_two_slow_readers_do_not_slow_a_third(echo_listener: Listener) -> None:
    with narrow(echo_listener.endpoint) as one, narrow(echo_listener.endpoint) as two:
        fill(one, LARGE)
        fill(two, GOOD)
        with echo_listener.endpoint.connect() as connection:
            connection.send(GOOD)
            assert connection.read_answer().status == 200


@pytest.mark.parametrize("ending", ["", "half-close", "close", "garbage", "too large"])
def test_a_client_that_never_reads_is_disconnected(ending: str) -> None:
    last = {
        "close": post(b"Connection: close"),
        "garbage": b"garbage\r\n\r\n",
        "too large": post(b"Content-Length: 2000000"),
    }.get(ending, b"")
    with (
        listening(limits=limits(drain_seconds=0.3, idle_seconds=0.3)) as listener,
        narrow(listener.endpoint) as sock,
    ):
        # Enough to fill the kernel buffers, ending with a complete request.
        sock.settimeout(5)
        number = 60
        sender = threading.Thread(
            target=_send_quietly, args=(sock, LARGE * number + last)
        )
        sender.start()
        wait_until(
            lambda: listener.handler.answered > 5,
            "five requests are answered",
            seconds=5,
        )
        if ending == "half-close":
            sock.shutdown(socket.SHUT_WR)
        wait_until(
            lambda: not listener.registry.connections,
            "the connection is gone",
            seconds=10,
        )
        sender.join(10)


@pytest.mark.parametrize("ending", ["half-close", "close", "garbage"])
def test_an_unread_last_answer_does_not_keep_its_connection_open(ending: str) -> None:
    # Too little to pause writing, so only the closing code can notice.
    last = {"close": post(b"Connection: close"), "garbage": b"x\r\n\r\n"}.get(
        ending, b""
    )
    with (
        listening(limits=limits(drain_seconds=0.3, idle_seconds=60)) as listener,
        narrow(listener.endpoint) as sock,
    ):
        [call] = _api_connections(listener)
        server_side = call._transport.get_extra_info("socket")
        server_side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        sock.sendall(post_body(b"x" * 50_000) + last)
        if ending == "half-close":
            sock.shutdown(socket.SHUT_WR)
        wait_until(
            lambda: not listener.registry.connections,
            "the connection is gone",
            seconds=10,
        )


def test_a_slow_reader_of_the_last_answer_gets_all_of_it() -> None:
    # Longer than the connection lingers; only the drain time-out may end it.
    with (
        listening(limits=limits(drain_seconds=20)) as listener,
        narrow(listener.endpoint) as sock,
    ):
        [call] = _api_connections(listener)
        server_side = call._transport.get_extra_info("socket")
        server_side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        sock.sendall(post_body(b"x" * 50_000) + b"x\r\n\r\n")
        lingered = threading.Event()
        assert not lingered.wait(3)
        connection = Connection(sock)
        assert len(connection.read_answer().body) == 50_000
        assert connection.read_answer().status == 400
        assert connection.rest() == b""


def _api_connections(listener: Listener) -> list:
    wait_until(
        lambda: bool(listener.registry.connections), "the connection is open", seconds=5
    )
    return list(listener.registry.connections)


def _send_quietly(sock: socket.socket, raw: bytes) -> None:
    try:
        sock.sendall(raw)
    except OSError:
        return
