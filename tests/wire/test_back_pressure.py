"""The server stops reading from a client that sends but does not read.

This bounds the memory per connection. If the client reads again, all of its requests
are answered; if not, the drain timeout disconnects it, whatever its state.
"""

import socket
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from readback.http.flow_control import LINGER_SECONDS
from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import GOOD, post, post_body, post_chunks
from tests.support.tables import each
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


# What a client sends last.
ENDINGS = {
    "half-close": b"",
    "close": post(b"Connection: close"),
    "garbage": b"garbage\r\n\r\n",
    "too large": post(b"Content-Length: 2000000"),
}


@pytest.mark.parametrize("ending", ["nothing", *ENDINGS])
def test_a_client_that_never_reads_is_disconnected(
    listener: Listener, ending: str
) -> None:
    # Enough to fill the kernel buffers.
    raw = LARGE * 60 + ENDINGS.get(ending, b"")
    with narrow(listener.endpoint) as sock:
        sender = threading.Thread(target=_send_quietly, args=(sock, raw))
        sender.start()
        wait_until(lambda: listener.handler.answered > 5, "five requests are answered")
        if ending == "half-close":
            sock.shutdown(socket.SHUT_WR)
        assert seconds_until_gone(listener) < 5 * DRAIN
        sender.join(PATIENCE)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_unread_last_answer_does_not_keep_its_connection_open(
    listener: Listener, ending: str
) -> None:
    # The unread answer is too small to pause writing; only the closing code detects it.
    with narrow(listener.endpoint) as sock:
        _send_unread_answer(listener, sock, ENDINGS[ending])
        if ending == "half-close":
            sock.shutdown(socket.SHUT_WR)
            closing = _connection(listener)._transport.is_closing
            wait_until(closing, "the server closes")
        assert DRAIN <= seconds_until_gone(listener) < 5 * DRAIN


def test_a_slow_reader_of_the_last_answer_gets_all_of_it(listener: Listener) -> None:
    # More time passes than a connection lingers; only the drain timeout may end it.
    with narrow(listener.endpoint) as sock:
        _send_unread_answer(listener, sock, b"x\r\n\r\n")
        assert 2 * LINGER_SECONDS < DRAIN
        listener.pass_time(2 * LINGER_SECONDS)
        connection = Connection(sock)
        assert len(connection.read_answer().body) == 50_000
        assert connection.read_answer().status == 400
        assert connection.rest() == b""


def seconds_until_gone(listener: Listener) -> int:
    """Let time pass until the connection has ended; return the number of seconds."""
    passed = 0

    def is_gone() -> bool:
        nonlocal passed
        listener.pass_time(1)
        passed += 1
        return not listener.registry.connections

    wait_until(is_gone, "the connection is gone")
    return passed


def _send_unread_answer(listener: Listener, sock: socket.socket, last: bytes) -> None:
    """Cause an answer too large for the kernel's buffers, then send the last bytes.

    Return when the server has read them.
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
    with suppress(OSError):
        sock.sendall(raw)


MEGABYTE = 1024 * 1024
# Far below what is sent. The loop reads 256 KiB at a time, and a few reads overlap.
BOUND = 4 * MEGABYTE

# A beginning, and what is repeated until 16 megabytes are sent.
GREEDY = {
    "requests": (b"", GOOD),
    "a head": (GOOD[:-2] + b"X: ", b"y"),
    "a target": (b"GET /", b"y"),
    "fields": (GOOD[:-2], b"X: y\r\n"),
    "empty lines": (b"", b"\r\n"),
    "extensions": (post_chunks(b"1;"), b"y"),
    "trailers": (post_chunks(b"0\r\n"), b"X: y\r\n"),
    "a refused body": (post(b"Content-Length: 90000000"), b"y"),
    "after a bad request": (b"bad\r\n\r\n", b"y"),
    "large answers": (b"", post_body(b"y" * 900_000)),
}


@each("start, unit", GREEDY)
def test_a_client_that_never_reads_uses_bounded_memory(
    listener: Listener, start: bytes, unit: bytes
) -> None:
    raw = start + unit * (16 * MEGABYTE // len(unit))
    with narrow(listener.endpoint) as sock:
        sock.settimeout(0.5)
        tracemalloc.start()
        try:
            _send_quietly(sock, raw)  # as much as possible
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The echo server accepts bodies of one megabyte; the API only 32 KiB.
        allowed = BOUND + (6 * MEGABYTE if len(unit) > 900_000 else 0)
        assert held < allowed, held
        assert peak < allowed + MEGABYTE, peak


def test_a_connection_with_an_unfinished_head_uses_little_memory(
    listener: Listener,
) -> None:
    with ExitStack() as stack:
        stack.callback(tracemalloc.stop)
        tracemalloc.start()
        for _ in range(100):
            connection = stack.enter_context(listener.endpoint.connect())
            listener.read_from(connection, GOOD[:-2])
        held, _ = tracemalloc.get_traced_memory()
        assert held < 100 * 10_000
