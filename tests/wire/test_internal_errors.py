"""An error on our side: an answer and a log line, neither with parts of the request."""

import logging
from typing import Any

import pytest

from readback import keys
from readback.api.data.keyring import Keyring
from readback.api.data.store import KeyRow
from readback.api.shared.limiter import Limiter
from readback.api.shared.memory import Counters
from tests.support.api import Api, compact, draft
from tests.support.listener import api_without_database, listening
from tests.support.load import models
from tests.support.raw_requests import ask, assert_closing_refusal, code_of, statuses
from tests.support.waiting import wait_until

SECRET = b"zyzzyva-in-an-error"


class BrokenKeyring(Keyring):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.find = _fail


def _fail(*_: object) -> Any:
    raise RuntimeError(SECRET)


def test_an_error_is_answered_logged_with_its_request_id_and_ends_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counters, limiter = Counters(1).row(0), Limiter(1000, 1000)
    keyring = BrokenKeyring(limiter, lambda digest: None, 900)
    api = api_without_database(keyring, limiter, counters)
    key = keys.mint()
    with listening(api) as listener, caplog.at_level(logging.ERROR):
        raw = models(listener.endpoint, key)
        [answer] = ask(listener.endpoint, raw + raw)
        # Others are served.
        assert statuses(ask(listener.endpoint, b"garbage\r\n\r\n")) == [400]
    assert_closing_refusal([answer], "internal_error")
    assert f"X-Request-Id {answer.header('X-Request-Id')}:" in caplog.text
    assert SECRET.decode() not in caplog.text and key not in caplog.text
    assert counters.get(("models", "internal_error")) == 1


class BrokenLimiter(Limiter):
    """Fails once the body of an accepted key's request has been read."""

    def admit(self, slot: int, now: float) -> bool:
        raise RuntimeError(SECRET)

    def number(self, slot: int, now: float) -> int:
        raise RuntimeError(SECRET)


def test_an_error_after_a_look_up_is_answered_and_not_waited_for() -> None:
    counters, asked = Counters(1).row(0), []
    limiter = BrokenLimiter(1000, 1000)
    keyring = Keyring(limiter, asked.append, 900)
    with (
        listening(api_without_database(keyring, limiter, counters)) as listener,
        listener.endpoint.connect() as connection,
    ):
        connection.send(models(listener.endpoint, keys.mint()))
        wait_until(lambda: len(asked) == 1, "the key is looked up")
        row = KeyRow(digest=asked[0], expires_at=None, accepted=True)
        listener.loop.call_soon_threadsafe(keyring.learn, asked[:], {asked[0]: row})
        answer = connection.read_answer()
    assert (answer.status, code_of(answer)) == (500, "internal_error")


def test_an_error_is_counted_for_its_endpoint_and_its_key(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counters, key, body = Counters(1).row(0), keys.mint(), compact(draft("A text."))
    digest = keys.digest(key.encode())
    limiter = BrokenLimiter(1000, 1000)
    keyring = Keyring(limiter, lambda digest: None, 900)
    keyring.wait(digest, lambda found: None)
    keyring.learn([digest], {digest: KeyRow(digest, None, True)})
    api = api_without_database(keyring, limiter, counters)
    journal = api._services.journal
    with listening(api) as listener, listener.endpoint.connect() as connection:
        connection.send(Api(listener.endpoint, key).chat_bytes(body))
        answer = connection.read_answer()
        assert_closing_refusal([answer], "internal_error")
        assert connection.rest() == b""
    journal.close(1.0, 1.0)

    rows = journal.fetch(lambda digest: 0)
    [failed] = [tally for tally in rows if tally.event.code]
    event = failed.event
    assert (event.digest, event.endpoint, event.status) == (digest, "chat", 500)
    assert (event.code, failed.requests) == ("internal_error", 1)
    assert failed.request_bytes == len(body)
    assert SECRET.decode() not in repr(event) + caplog.text
    assert "A text." not in caplog.text
    assert counters.get(("chat", "internal_error")) == 1
    assert counters.get(("other", "internal_error")) == 0
