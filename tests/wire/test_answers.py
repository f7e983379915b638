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
from tests.support.api import CHAT, MARKER, MODELS, Api, draft
from tests.support.listener import api_without_database, listening
from tests.support.load import models
from tests.support.raw_requests import ask, assert_closing_refusal, statuses
from tests.support.server import Server
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
        # The date is updated twice a second, or later if the process is busy.
        assert before - 10 < date < time.time() + 1
        assert int(answer.header("Content-Length") or "-1") == len(answer.body) > 0
        assert answer.header("Transfer-Encoding") is None


def test_answers_of_the_ops_listener_have_a_date_and_a_length(server: Server) -> None:
    ops, host = Endpoint.of(server.ops_url), [("Host", "x")]
    for target in ("/healthz", "/readyz", "/readyz/strict", "/status", "/metrics"):
        raw = request("HEAD", target, host) + request("GET", target, host)
        for answer in ask(ops, raw, bodiless=(0,)):
            assert answer.status == 200
            assert answer.header("Date")
            assert answer.header("Cache-Control") == "no-store"
    for raw, status in (
        (request("GET", "/x", host), 404),
        (request("POST", "/healthz", host), 404),
        (b"garbage\r\n\r\n", 400),
    ):
        [answer] = ask(ops, raw)
        assert (answer.status, bool(answer.header("Date"))) == (status, True)


SECRET = "zyzzyva-in-an-error"


def fail(*_: object) -> Any:
    raise RuntimeError(SECRET)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("endpoint", ["models", "chat"])
@pytest.mark.parametrize("broken", ["find", "rate"])
def test_an_error_is_answered_counted_and_logged_and_ends_the_connection(
    caplog: pytest.LogCaptureFixture, broken: str, endpoint: str, is_known: bool
) -> None:
    def learn(digest: bytes) -> None:
        rows = {digest: KeyRow(digest, None, True)}
        listener.loop.call_soon_threadsafe(keyring.learn, [digest], rows)

    counters, limiter = Counters(1).row(0), Limiter(1000, 1000)
    keyring, key = Keyring(limiter, learn, 900), keys.mint()
    with (
        listening(api_without_database(keyring, limiter, counters)) as listener,
        caplog.at_level(logging.ERROR),
    ):
        api = Api(listener.endpoint, key)
        if is_known:  # otherwise the error happens after a lookup
            assert api.models().status == 200
        if broken == "find":
            keyring.find = fail
        else:
            limiter.admit = limiter.number = fail
        chat = api.chat_bytes(draft())
        raw = chat if endpoint == "chat" else models(listener.endpoint, key)
        [answer] = ask(listener.endpoint, raw * 2)
        # Other requests are still answered.
        assert statuses(ask(listener.endpoint, b"garbage\r\n\r\n")) == [400]
    assert_closing_refusal([answer], "internal_error")
    assert f"X-Request-Id {answer.header('X-Request-Id')}:" in caplog.text
    for secret in (SECRET, MARKER, key):
        assert secret not in caplog.text
    assert counters.get((endpoint, "internal_error")) == 1
    assert counters.get(("other", "internal_error")) == 0
