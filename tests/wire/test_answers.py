"""The form of every answer (RFC 9110 §6.6.1, §8.6, §11.6.1, RFC 9112 §6.3)."""

import time
from email.utils import parsedate_to_datetime

from tests.support.api import CHAT, MODELS, Api, draft
from tests.support.raw_requests import ask
from tests.support.server import Server
from tests.support.wire import Endpoint, request


def test_every_answer_has_the_true_date_and_its_length(api: Api) -> None:
    """Its other headers are in tests/conformance."""
    too_large = [*api.usual_fields, ("Content-Length", "99999")]
    for raw in (
        api.chat_bytes(draft("x")),
        b"garbage\r\n\r\n",
        request("GET", MODELS, [api.host]),
        request("POST", CHAT, too_large),
    ):
        before = time.time()
        [answer] = ask(api.endpoint, raw)
        date = parsedate_to_datetime(answer.header("Date") or "").timestamp()
        # The date is set twice a second, which is late in a busy process.
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
