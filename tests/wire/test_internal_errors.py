"""An error on our side: an answer and a log line, neither with parts of the request."""

import logging
from typing import Any

import pytest

from readback import keys
from readback.api.data.keyring import Keyring
from readback.api.data.store import KeyRow
from readback.api.http.head import Head
from readback.api.shared.created import Limiter
from readback.api.shared.memory import Counters
from tests.support.api import compact, draft
from tests.support.echo_server import Echo, EchoExchange
from tests.support.listener import api_without_database, listening
from tests.support.load import chat, models
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    assert_in_sync,
    code_of,
    post_body,
    statuses,
)
from tests.support.waiting import wait_until

SECRET = b"zyzzyva-in-the-body"


class Failing(Echo):
    """Fails at the point that the target names."""

    def find(self, kind: Head, *_: Any) -> EchoExchange | None:
        # What answers a known head is kept, as in the API.
        self.known = getattr(self, "known", None) or FailingExchange(self, kind)
        return self.known if kind.target == b"/second" else None

    def begin(self, head: Head, *_: Any) -> EchoExchange | bytes:
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
        works = {b"/answer": 0, b"/second": 2}.get(self._target, self._count)
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
        for _ in range(4):  # the first two are parsed
            connection.send(raw)
            assert connection.read_answer().status == 200
        connection.send(raw)
        assert_closing_refusal([connection.read_answer()], "internal_error")
        assert connection.rest() == b""
    assert SECRET.decode() not in caplog.text


class BrokenKeyring(Keyring):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.find = _fail


def _fail(*_: object) -> Any:
    raise RuntimeError(SECRET)


def test_the_log_has_the_request_id_that_the_client_received(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counters, rates = Counters(1).row(0), Limiter(1000, 1000)
    keyring = BrokenKeyring(rates, lambda digest: None, 900)
    api = api_without_database(keyring, rates, counters)
    key = keys.mint()
    with listening(api) as listener, caplog.at_level(logging.ERROR):
        [answer] = ask(listener.endpoint, models(listener.endpoint, key))
    assert_closing_refusal([answer], "internal_error")
    assert f"X-Request-Id {answer.header('X-Request-Id')}:" in caplog.text
    assert SECRET.decode() not in caplog.text and key not in caplog.text
    assert counters.get(("models", "internal_error")) == 1


class BrokenLimiter(Limiter):
    """Fails once a key has been accepted: at its first request, or at its second."""

    broken_from = 1

    def take(self, slot: int, now: float) -> bool:
        self._break()
        return super().take(slot, now)

    def admit(self, slot: int, now: float) -> int:
        self._break()
        return super().admit(slot, now)

    def _break(self) -> None:
        self.broken_from -= 1
        if self.broken_from <= 0:
            raise RuntimeError(SECRET)


def test_an_error_after_a_look_up_is_answered_and_not_waited_for() -> None:
    counters, asked = Counters(1).row(0), []
    rates = BrokenLimiter(1000, 1000)
    keyring = Keyring(rates, asked.append, 900)
    with (
        listening(api_without_database(keyring, rates, counters)) as listener,
        listener.endpoint.connect() as connection,
    ):
        connection.send(models(listener.endpoint, keys.mint()))
        wait_until(lambda: len(asked) == 1, "the key is looked up")
        row = KeyRow(digest=asked[0], expires_at=None, accepted=True)
        listener.loop.call_soon_threadsafe(keyring.learn, asked[:], {asked[0]: row})
        answer = connection.read_answer()
    assert (answer.status, code_of(answer)) == (500, "internal_error")


@pytest.mark.parametrize("works", [0, 1, 2, 3])
def test_an_error_is_counted_for_its_endpoint_and_its_key(works: int) -> None:
    counters, key, body = Counters(1).row(0), keys.mint(), compact(draft("A text."))
    digest = keys.digest(key.encode())
    rates = BrokenLimiter(1000, 1000)
    rates.broken_from = works + 1
    keyring = Keyring(rates, lambda digest: None, 900)
    keyring.wait(digest, lambda found: None)
    keyring.learn([digest], {digest: KeyRow(digest, None, True)})
    api = api_without_database(keyring, rates, counters)
    journal = api._services.journal
    with listening(api) as listener, listener.endpoint.connect() as connection:
        for status in [200] * works + [500]:
            connection.send(chat(listener.endpoint, key, body))
            assert connection.read_answer().status == status
    journal.close(1.0, 1.0)

    rows = journal.fetch(lambda digest, advance: 0)
    [failed] = [tally for tally in rows if tally.event.code]
    event = failed.event
    assert (event.digest, event.endpoint, event.status) == (digest, "chat", 500)
    assert (event.code, failed.requests) == ("internal_error", 1)
    assert failed.request_bytes == len(body)
    assert SECRET.decode() not in repr(event)
    assert counters.get(("chat", "internal_error")) == 1
    assert counters.get(("other", "internal_error")) == 0
