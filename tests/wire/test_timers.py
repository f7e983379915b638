"""Deadlines: for the whole head, the whole body, the idle time (RFC 9112 §9.5).

They are counted from the beginning of a phase, so a byte now and then buys no time.
"""

import time
from collections.abc import Iterator

import pytest

from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import (
    GOOD,
    assert_in_step,
    assert_turned_away,
    chunky,
    sized,
)
from tests.support.tables import each
from tests.support.waiting import wait_until
from tests.support.wire import Connection

SOON = 0.4
LATER = 30.0


@pytest.fixture(scope="module")
def hasty() -> Iterator[Listener]:
    """Quick to give up on heads and bodies, patient with idle connections."""
    with listening(limits=limits(head_seconds=SOON, body_seconds=SOON)) as listener:
        yield listener


@pytest.fixture(scope="module")
def tidy() -> Iterator[Listener]:
    """Quick to give up on idle connections alone."""
    with listening(limits=limits(idle_seconds=SOON)) as listener:
        yield listener


UNFINISHED = {
    "one byte": b"G",
    "half a line": GOOD[:8],
    "a line": GOOD[:20],
    "all but the last byte": GOOD[:-1],
    "a body": sized(b"abcdef")[:-1],
    "a body not begun": sized(b"abcdef")[:-6],
    "chunks": chunky(b"5\r\nab"),
    "chunks without the last line end": chunky(b"1\r\na\r\n0\r\n"),
    "a trailer": chunky(b"0\r\nX: y"),
}


@each("raw", UNFINISHED)
def test_an_unfinished_request_is_told_that_it_took_too_long(
    hasty: Listener, raw: bytes
) -> None:
    with hasty.endpoint.connect() as connection:
        connection.send(raw)
        answer = connection.read_answer()
        assert_turned_away([answer], "request_timeout")
        assert answer.status == 408
        assert connection.rest() == b""


@each("raw", UNFINISHED)
def test_the_same_behind_a_good_request(hasty: Listener, raw: bytes) -> None:
    with hasty.endpoint.connect() as connection:
        connection.send(GOOD + raw)
        assert connection.read_answer().status == 200
        assert_turned_away([connection.read_answer()], "request_timeout")


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"", b"\r\n"),
        (b"GET / HTTP/1.1\r\n", b"X: y\r\n"),
        (sized(b"x" * 10_000)[:-10_000], b"x"),
        (chunky(b""), b"1\r\nx\r\n"),
    ],
    ids=["empty lines", "head", "body", "chunks"],
)
def test_a_byte_now_and_then_buys_no_time(
    hasty: Listener, start: bytes, drop: bytes
) -> None:
    with hasty.endpoint.connect() as connection:
        connection.send(start)
        assert _drip(connection, drop, rest_time=0.05) < 40


def test_a_silent_client_is_left_without_a_word(hasty: Listener) -> None:
    with hasty.endpoint.connect() as connection:
        assert connection.rest() == b""


def test_an_idle_connection_is_closed_without_a_word(tidy: Listener) -> None:
    with tidy.endpoint.connect() as connection:
        assert_in_step(connection)
        assert connection.rest() == b""


def test_each_request_begins_a_new_idle_time(tidy: Listener) -> None:
    with tidy.endpoint.connect() as connection:
        end = time.monotonic() + 3 * SOON
        while time.monotonic() < end:
            assert_in_step(connection)
            time.sleep(SOON / 8)


def test_a_connection_that_was_used_may_be_idle_longer_than_a_head_may_take(
    hasty: Listener,
) -> None:
    with hasty.endpoint.connect() as connection:
        assert_in_step(connection)
        time.sleep(2 * SOON)
        assert_in_step(connection)


def test_the_rest_of_a_refused_body_has_a_deadline_too() -> None:
    class Refusing:
        answered = 0

        def describe(self, head):
            return head

        def begin(self, head, key, origin):
            return self.refuse("not_found", "")

        def refuse(self, code, detail):
            return b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"

    with (
        listening(Refusing(), limits(body_seconds=SOON)) as listener,
        listener.endpoint.connect() as connection,
    ):
        connection.send(sized(b"x" * 100)[:-1])
        assert connection.read_answer().status == 404
        assert connection.rest() == b""


def test_an_old_connection_is_asked_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # So that none lives for ever, and a balancer gets to spread them anew.
    monkeypatch.setattr("readback.api.http.registry.MAX_AGE_SECONDS", SOON)
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


def _drip(connection: Connection, drop: bytes, rest_time: float) -> int:
    """Send a little again and again until the server has hung up; count."""
    connection._sock.settimeout(rest_time)
    for number in range(200):
        connection.send(drop)
        try:
            if not connection._sock.recv(4096):
                return number
        except TimeoutError:
            continue
        except ConnectionResetError:
            return number
    return 200
