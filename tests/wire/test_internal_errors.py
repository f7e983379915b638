"""A fault of ours: an answer, a line in the log, and nothing of what came in it."""

import logging

import pytest

from readback.api.http.handler import RequestOrigin
from readback.api.http.head import Head
from tests.support.echo_server import Echo, EchoExchange
from tests.support.listener import listening
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_in_step,
    assert_turned_away,
    sized,
    statuses,
)

SECRET = b"zyzzyva-in-the-body"


class Clumsy(Echo):
    """Fails in the way that the target names."""

    def begin(
        self, head: Head, key: bytes, origin: RequestOrigin
    ) -> EchoExchange | bytes:
        if head.target == b"/begin":
            raise RuntimeError(SECRET)
        return ClumsyExchange(self, head)


class ClumsyExchange(EchoExchange):
    def __init__(self, echo: Echo, head: Head) -> None:
        super().__init__(echo, head)
        self._target = head.target
        self._count = 0

    def answer(self, body: bytes) -> bytes:
        self._count += 1
        works = {b"/answer": 0, b"/second": 1}.get(self._target, self._count)
        if self._count > works:
            raise RecursionError(body)
        return super().answer(body)


@pytest.mark.parametrize("place", [b"/begin", b"/answer"])
def test_a_fault_is_answered_and_ends_the_connection(
    place: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    raw = sized(SECRET).replace(b" / ", b" %b " % place)
    with listening(Clumsy()) as listener, caplog.at_level(logging.ERROR):
        answers = ask(listener.endpoint, GOOD + raw + GOOD)
        assert statuses(answers) == [200, 500]
        assert_turned_away(answers[1:], "internal_error")
        with listener.endpoint.connect() as connection:
            assert_in_step(connection)
    assert "internal error" in caplog.text
    assert SECRET.decode() not in caplog.text


def test_a_fault_on_the_fast_way_is_answered_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    raw = sized(SECRET).replace(b" / ", b" /second ")
    with (
        listening(Clumsy()) as listener,
        caplog.at_level(logging.ERROR),
        listener.endpoint.connect() as connection,
    ):
        connection.send(raw)
        assert connection.read_answer().status == 200
        connection.send(raw)
        assert_turned_away([connection.read_answer()], "internal_error")
        assert connection.rest() == b""
    assert SECRET.decode() not in caplog.text
