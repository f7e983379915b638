"""An error on our side: an answer and a log line, neither with parts of the request."""

import logging

import pytest

from readback.api.http.handler import RequestOrigin
from readback.api.http.head import Head
from tests.support.echo_server import Echo, EchoExchange
from tests.support.listener import listening
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    assert_in_sync,
    post_body,
    statuses,
)

SECRET = b"zyzzyva-in-the-body"


class Failing(Echo):
    """Fails at the point that the target names."""

    def begin(
        self, head: Head, key: bytes, origin: RequestOrigin
    ) -> EchoExchange | bytes:
        if head.target == b"/begin":
            raise RuntimeError(SECRET)
        return FailingExchange(self, head)


class FailingExchange(EchoExchange):
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
def test_an_internal_error_is_answered_and_ends_the_connection(
    place: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    raw = post_body(SECRET).replace(b" / ", b" %b " % place)
    with listening(Failing()) as listener, caplog.at_level(logging.ERROR):
        answers = ask(listener.endpoint, GOOD + raw + GOOD)
        assert statuses(answers) == [200, 500]
        assert_closing_refusal(answers[1:], "internal_error")
        with listener.endpoint.connect() as connection:
            assert_in_sync(connection)
    assert "internal error" in caplog.text
    assert SECRET.decode() not in caplog.text


def test_an_internal_error_in_a_repeated_request_is_answered_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    raw = post_body(SECRET).replace(b" / ", b" /second ")
    with (
        listening(Failing()) as listener,
        caplog.at_level(logging.ERROR),
        listener.endpoint.connect() as connection,
    ):
        connection.send(raw)
        assert connection.read_answer().status == 200
        connection.send(raw)
        assert_closing_refusal([connection.read_answer()], "internal_error")
        assert connection.rest() == b""
    assert SECRET.decode() not in caplog.text
