"""The form of every answer (RFC 9110 §6.6.1, §8.6, §11.6.1, RFC 9112 §6.3).

An error on our side is answered and logged, without any part of the request.
"""

import logging
import time
from calendar import timegm
from typing import Any

import pytest

from readback import keys
from readback.api.data.keyring import Keyring
from readback.api.data.store import KeyRow
from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from tests.support.api import CHAT, MODELS, Api, compact, draft
from tests.support.listener import api_without_database, listening
from tests.support.load import models
from tests.support.raw_requests import ask, assert_closing_refusal, code_of, statuses
from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint, request


def test_every_answer_has_the_true_date_and_its_length(api: Api) -> None:
    """The other headers are checked by tests/conformance."""
    too_large = [*api.usual_fields, ("Content-Length", "99999")]
    for raw in (
        api.chat_bytes(draft("x")),
        b"garbage\r\n\r\n",
        request("GET", MODELS, [api.host]),
        request("POST", CHAT, too_large),
    ):
        before = time.time()
        [answer] = ask(api.endpoint, raw)
        form = "%a, %d %b %Y %H:%M:%S GMT"  # RFC 9110 §5.6.7
        date = timegm(time.strptime(answer.header("Date") or "", form))
        # The date is updated twice a second, and later if the process is busy.
        assert before - 10 < date < time.time() + 1
        assert int(answer.header("Content-Length") or "-1") == len(answer.body) > 0
        assert answer.header("Transfer-Encoding") is None


def test_answers_of_the_ops_listener_have_a_date_and_a_length(server: Server) -> None:
    ops = Endpoint.of(server.ops_url)
    targets = ("/healthz", "/readyz", "/readyz/strict", "/status", "/metrics")
    for target in targets:
        for method, bodiless in (("GET", ()), ("HEAD", (0,))):
            raw = request(method, target, [("Host", "x")])
            [answer] = ask(ops, raw, bodiless=bodiless)
            assert answer.status == 200
            assert answer.header("Date")
            assert answer.header("Cache-Control") == "no-store"
    for raw, status in (
        (request("GET", "/x", [("Host", "x")]), 404),
        (request("POST", "/healthz", [("Host", "x")]), 404),
        (b"garbage\r\n\r\n", 400),
    ):
        [answer] = ask(ops, raw)
        assert (answer.status, bool(answer.header("Date"))) == (status, True)


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
        # Other requests are still answered.
        assert statuses(ask(listener.endpoint, b"garbage\r\n\r\n")) == [400]
    assert_closing_refusal([answer], "internal_error")
    assert f"X-Request-Id {answer.header('X-Request-Id')}:" in caplog.text
    assert SECRET.decode() not in caplog.text and key not in caplog.text
    assert counters.get(("models", "internal_error")) == 1


class BrokenLimiter(Limiter):
    """Fails after the body of a request with an accepted key has been read."""

    def admit(self, slot: int, now: float) -> bool:
        raise RuntimeError(SECRET)

    def number(self, slot: int, now: float) -> int:
        raise RuntimeError(SECRET)


def test_an_error_after_a_look_up_is_answered_at_once() -> None:
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


def test_an_error_is_counted_for_its_endpoint(caplog: pytest.LogCaptureFixture) -> None:
    counters, key, body = Counters(1).row(0), keys.mint(), compact(draft("A text."))
    digest = keys.digest(key.encode())
    limiter = BrokenLimiter(1000, 1000)
    keyring = Keyring(limiter, lambda digest: None, 900)
    keyring.wait(digest, lambda found: None)
    keyring.learn([digest], {digest: KeyRow(digest, None, True)})
    api = api_without_database(keyring, limiter, counters)
    with listening(api) as listener, listener.endpoint.connect() as connection:
        connection.send(Api(listener.endpoint, key).chat_bytes(body))
        answer = connection.read_answer()
        assert_closing_refusal([answer], "internal_error")
        assert connection.rest() == b""

    assert SECRET.decode() not in caplog.text
    assert "A text." not in caplog.text
    assert counters.get(("chat", "internal_error")) == 1
    assert counters.get(("other", "internal_error")) == 0
