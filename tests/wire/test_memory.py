"""What one connection can make the server hold: a head, a body and what is unread."""

import socket
import tracemalloc
from collections.abc import Iterator

import pytest

from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import GOOD, chunky, post, sized
from tests.support.waiting import wait_until

MEGABYTE = 1024 * 1024
# Far below what is sent. A read of the loop is 256 KiB, and a few are on their way.
BOUND = 4 * MEGABYTE

GREEDY = {
    "requests": GOOD * 400_000,
    "a head": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 16 * MEGABYTE,
    "a target": b"GET /" + b"y" * 16 * MEGABYTE,
    "fields": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 3_000_000,
    "empty lines": b"\r\n" * 8_000_000,
    "extensions": chunky(b"1;" + b"y" * 16 * MEGABYTE),
    "trailers": chunky(b"0\r\n" + b"X: y\r\n" * 3_000_000),
    "a refused body": post(b"Content-Length: 90000000", body=b"y" * 16 * MEGABYTE),
    "behind a bad request": b"bad\r\n\r\n" + b"y" * 16 * MEGABYTE,
    "large answers": sized(b"y" * 900_000) * 20,
}


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with listening(limits=limits(drain_seconds=60, idle_seconds=60)) as listener:
        yield listener


@pytest.mark.parametrize("raw", GREEDY.values(), ids=GREEDY.keys())
def test_a_client_that_sends_and_never_reads_is_held_in_bounds(
    listener: Listener, raw: bytes
) -> None:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect((listener.endpoint.host, listener.endpoint.port))
        sock.settimeout(0.5)
        tracemalloc.start()
        try:
            _send_all_that_goes(sock, raw)
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The echo takes bodies of a megabyte; the API's are 32 KiB.
        allowed = BOUND + (6 * MEGABYTE if b"900000" in raw[:60] else 0)
        assert held < allowed, held
        assert peak < allowed + MEGABYTE, peak


def test_a_connection_in_the_middle_of_a_head_is_small(listener: Listener) -> None:
    socks = []
    tracemalloc.start()
    try:
        for _ in range(100):
            endpoint = listener.endpoint
            socks.append(socket.create_connection((endpoint.host, endpoint.port)))
            socks[-1].sendall(GOOD[:-2])
        wait_until(
            lambda: len(listener.registry.connections) >= 100,
            "100 connections are open",
            seconds=5,
        )
        held, _ = tracemalloc.get_traced_memory()
        assert held < 100 * 10_000
    finally:
        tracemalloc.stop()
        for sock in socks:
            sock.close()


def _send_all_that_goes(sock: socket.socket, raw: bytes) -> None:
    view = memoryview(raw)
    try:
        while view:
            view = view[sock.send(view) :]
    except (TimeoutError, ConnectionError):
        return
