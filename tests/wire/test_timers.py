"""Deadlines for the whole head, the whole body and idle time (RFC 9112 §9.5).

They are counted from the beginning of a phase, so single bytes do not extend them. The
tests control the clock; tests/conformance/test_rates.py uses a running server.
"""

from collections.abc import Iterator
from itertools import cycle

import pytest

from readback.http.registry import MAX_AGE_SECONDS
from readback.http.states import LINGER
from tests.support.echo_server import NO_TUNNEL
from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import (
    GOOD,
    assert_closing_refusal,
    assert_in_sync,
    post_body,
    post_chunks,
)
from tests.support.tables import each
from tests.support.waiting import wait_until
from tests.support.wire import Connection

TIME_OUT = 10.0
"""The deadlines of a head and of a body, in seconds."""
IDLE = 6 * TIME_OUT
LIMITS = limits(head_seconds=TIME_OUT, body_seconds=TIME_OUT, idle_seconds=IDLE)


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening(limits=LIMITS, own_time=True) as listener:
        yield listener


@pytest.fixture
def connection(listener: Listener) -> Iterator[Connection]:
    with listener.endpoint.connect() as connection:
        wait_until(lambda: listener.registry.connections, "the connection is open")
        yield connection


def is_open(listener: Listener) -> bool:
    """Return whether the server still waits for a request, or for the rest of one."""
    return any(each._state != LINGER for each in listener.registry.connections)


UNFINISHED = {
    "one byte": b"G",
    "a line": GOOD[:20],
    "all but the last byte": GOOD[:-1],
    "a body": post_body(b"abcdef")[:-1],
    "chunks without the last line end": post_chunks(b"1\r\na\r\n0\r\n"),
    "a trailer": post_chunks(b"0\r\nX: y"),
}


@each("raw", UNFINISHED)
@pytest.mark.parametrize("before", [b"", GOOD], ids=["first", "later"])
def test_an_unfinished_request_times_out_with_a_408(
    listener: Listener, connection: Connection, before: bytes, raw: bytes
) -> None:
    listener.read_from(connection, before + raw)
    if before:
        assert connection.read_answer().status == 200
    listener.pass_time(0.9 * TIME_OUT)
    assert is_open(listener)
    listener.pass_time(0.2 * TIME_OUT)
    answer = connection.read_answer()
    assert_closing_refusal([answer], "request_timeout")
    assert answer.status == 408
    assert connection.rest() == b""


@each(
    "start, drops",
    {
        # The trickle has fewer empty lines than the number that is refused.
        "empty lines": (b"", [b"\r\n"]),
        "halves of empty lines": (b"", [b"\r", b"\n"]),
        "head": (b"GET / HTTP/1.1\r\n", [b"X: y\r\n"]),
        "body": (post_body(b"x" * 10_000)[:-10_000], [b"x"]),
        "chunks": (post_chunks(b""), [b"1\r\nx\r\n"]),
    },
)
def test_a_trickle_of_bytes_gets_no_more_time(
    listener: Listener, connection: Connection, start: bytes, drops: list[bytes]
) -> None:
    listener.read_from(connection, start)
    assert trickle(listener, connection, *drops, pause=TIME_OUT / 4) == 4


def test_empty_lines_do_not_extend_the_deadline_of_an_idle_connection(
    listener: Listener, connection: Connection
) -> None:
    assert_in_sync(connection)
    assert trickle(listener, connection, b"\r", b"\n", pause=IDLE / 4) == 4


@pytest.mark.parametrize(("requests", "seconds"), [(0, TIME_OUT), (1, IDLE)])
def test_a_silent_client_is_disconnected_without_an_answer(
    listener: Listener, connection: Connection, requests: int, seconds: float
) -> None:
    for _ in range(requests):
        assert_in_sync(connection)
    listener.pass_time(0.9 * seconds)
    assert is_open(listener)
    listener.pass_time(0.2 * seconds)
    assert connection.rest() == b""


def test_the_rest_of_a_refused_body_has_a_deadline_too(
    listener: Listener, connection: Connection
) -> None:
    listener.handler.begin = lambda *_: NO_TUNNEL
    listener.read_from(connection, post_body(b"x" * 100)[:-1])
    assert connection.read_answer().status == 501
    listener.pass_time(1.1 * TIME_OUT)
    assert connection.rest() == b""


def test_an_old_connection_is_closed_by_its_next_answer(
    listener: Listener, connection: Connection
) -> None:
    # This lets a load balancer distribute long-lived connections again.
    for _ in range(int(MAX_AGE_SECONDS / IDLE)):
        assert_in_sync(connection)
        listener.pass_time(0.99 * IDLE)
    connection.send(GOOD)
    assert connection.read_answer().header("Connection") is None
    listener.pass_time(0.99 * IDLE)
    connection.send(GOOD)
    answer = connection.read_answer()
    assert (answer.status, answer.header("Connection")) == (200, "close")
    assert connection.rest() == b""


def trickle(
    listener: Listener, connection: Connection, *drops: bytes, pause: float
) -> int:
    """Send a few bytes at a time until the server gives up; return how many times."""
    for number, drop in zip(range(1, 20), cycle(drops)):
        listener.read_from(connection, drop)
        listener.pass_time(pause)
        if not is_open(listener):
            connection.rest()
            return number
    raise AssertionError("the server does not end the connection")
