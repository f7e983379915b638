"""Deadlines for the whole head, the whole body and idle time (RFC 9112 §9.5).

They are counted from the beginning of a phase, so single bytes do not extend them.
"""

import time
from collections.abc import Iterator
from itertools import cycle

import pytest

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

SHORT = 0.4


@pytest.fixture(scope="module")
def short_time_outs() -> Iterator[Listener]:
    """A listener with short time-outs for heads and bodies."""
    with listening(limits=limits(head_seconds=SHORT, body_seconds=SHORT)) as listener:
        yield listener


@pytest.fixture(scope="module")
def short_idle_time() -> Iterator[Listener]:
    """A listener with a short time-out for idle connections only."""
    with listening(limits=limits(idle_seconds=SHORT)) as listener:
        yield listener


UNFINISHED = {
    "one byte": b"G",
    "half a line": GOOD[:8],
    "a line": GOOD[:20],
    "all but the last byte": GOOD[:-1],
    "a body": post_body(b"abcdef")[:-1],
    "a body not begun": post_body(b"abcdef")[:-6],
    "chunks": post_chunks(b"5\r\nab"),
    "chunks without the last line end": post_chunks(b"1\r\na\r\n0\r\n"),
    "a trailer": post_chunks(b"0\r\nX: y"),
}


@each("raw", UNFINISHED)
def test_an_unfinished_request_times_out_with_a_408(
    short_time_outs: Listener, raw: bytes
) -> None:
    with short_time_outs.endpoint.connect() as connection:
        connection.send(raw)
        answer = connection.read_answer()
        assert_closing_refusal([answer], "request_timeout")
        assert answer.status == 408
        assert connection.rest() == b""


@each("raw", UNFINISHED)
def test_an_unfinished_request_after_a_good_one_times_out_too(
    short_time_outs: Listener, raw: bytes
) -> None:
    with short_time_outs.endpoint.connect() as connection:
        connection.send(GOOD + raw)
        assert connection.read_answer().status == 200
        assert_closing_refusal([connection.read_answer()], "request_timeout")


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"", b"\r\n"),
        (b"GET / HTTP/1.1\r\n", b"X: y\r\n"),
        (post_body(b"x" * 10_000)[:-10_000], b"x"),
        (post_chunks(b""), b"1\r\nx\r\n"),
    ],
    ids=["empty lines", "head", "body", "chunks"],
)
def test_a_trickle_of_bytes_gets_no_more_time(
    short_time_outs: Listener, start: bytes, drop: bytes
) -> None:
    with short_time_outs.endpoint.connect() as connection:
        connection.send(start)
        assert _trickle(connection, drop, rest_time=0.05) < 40


def test_empty_lines_do_not_extend_the_deadline_of_a_head(
    short_time_outs: Listener,
) -> None:
    with short_time_outs.endpoint.connect() as connection:
        # Fewer pieces than would be refused for the number of empty lines.
        assert _trickle(connection, b"\r", b"\n", rest_time=SHORT / 4) < 8


def test_empty_lines_do_not_extend_the_deadline_of_an_idle_connection(
    short_idle_time: Listener,
) -> None:
    with short_idle_time.endpoint.connect() as connection:
        assert_in_sync(connection)
        assert _trickle(connection, b"\r", b"\n", rest_time=SHORT / 4) < 8


def test_empty_lines_do_not_shorten_the_life_of_an_idle_connection(
    short_time_outs: Listener,
) -> None:
    # A client that sends one after each body must be able to pause like any other.
    with short_time_outs.endpoint.connect() as connection:
        connection.send(post_body(b"abc") + b"\r\n")
        assert connection.read_answer().status == 200
        time.sleep(2 * SHORT)
        assert_in_sync(connection)


def test_a_silent_client_is_disconnected_without_an_answer(
    short_time_outs: Listener,
) -> None:
    with short_time_outs.endpoint.connect() as connection:
        assert connection.rest() == b""


def test_an_idle_connection_is_closed_without_an_answer(
    short_idle_time: Listener,
) -> None:
    with short_idle_time.endpoint.connect() as connection:
        assert_in_sync(connection)
        assert connection.rest() == b""


def test_each_request_restarts_the_idle_timer(short_idle_time: Listener) -> None:
    with short_idle_time.endpoint.connect() as connection:
        end = time.monotonic() + 3 * SHORT
        while time.monotonic() < end:
            assert_in_sync(connection)
            time.sleep(SHORT / 8)


def test_a_used_connection_may_be_idle_for_longer_than_a_head_may_take(
    short_time_outs: Listener,
) -> None:
    with short_time_outs.endpoint.connect() as connection:
        assert_in_sync(connection)
        time.sleep(2 * SHORT)
        assert_in_sync(connection)


def test_the_rest_of_a_refused_body_has_a_deadline_too() -> None:
    class Refusing:
        answered = 0

        def describe(self, head):
            return head

        def contains_secret(self, data):
            return False

        def begin(self, head, key, origin):
            return self.refuse("not_found", "")

        def refuse(self, code, detail, address=""):
            return b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"

    with (
        listening(Refusing(), limits(body_seconds=SHORT)) as listener,
        listener.endpoint.connect() as connection,
    ):
        connection.send(post_body(b"x" * 100)[:-1])
        assert connection.read_answer().status == 404
        assert connection.rest() == b""


def test_an_old_connection_is_closed_by_its_next_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that no connection is endless and a load balancer can distribute them again.
    monkeypatch.setattr("readback.api.http.registry.MAX_AGE_SECONDS", SHORT)
    with listening() as listener, listener.endpoint.connect() as connection:
        answers = []

        def is_told_to_close() -> bool:
            connection.send(GOOD)
            answers.append(connection.read_answer())
            return answers[-1].header("Connection") is not None

        wait_until(is_told_to_close, "the server announces the end")
        assert len(answers) > 1
        assert {answer.status for answer in answers} == {200}
        assert connection.rest() == b""


def _trickle(connection: Connection, *drops: bytes, rest_time: float) -> int:
    """Send a few bytes, in turn, until the server closes; return how often."""
    connection._sock.settimeout(rest_time)
    for number, drop in zip(range(200), cycle(drops)):
        connection.send(drop)
        try:
            if not connection._sock.recv(4096):
                return number
        except TimeoutError:
            continue
        except ConnectionResetError:
            return number
    return 200
