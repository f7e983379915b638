"""The form of every answer (RFC 9110 §6.6.1, §8.6, §11.6.1, RFC 9112 §6.3)."""

import time
from email.utils import parsedate_to_datetime

import pytest

from tests.support.api import (
    MODELS,
    Api,
    assert_common_headers,
    assert_success,
    draft,
)
from tests.support.raw_requests import ask, statuses
from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint, request

REQUESTS = {
    200: lambda api: api.chat_bytes(draft("x")),
    400: lambda api: b"garbage\r\n\r\n",
    401: lambda api: request("GET", MODELS, [api.host]),
    404: lambda api: request("GET", "/", api.usual_fields),
    413: lambda api: request(
        "POST",
        "/v1/chat/completions",
        [*api.usual_fields, ("Content-Length", "99999")],
    ),
    414: lambda api: b"GET /" + b"x" * 20_000,
    431: lambda api: request("GET", MODELS, [*api.usual_fields, ("X", "y" * 20_000)]),
    501: lambda api: request(
        "POST", MODELS, [*api.usual_fields, ("Transfer-Encoding", "gzip, chunked")]
    ),
}


def test_every_answer_has_the_common_headers_and_the_true_date(api: Api) -> None:
    for status, raw in REQUESTS.items():
        before = time.time()
        [answer] = ask(api.endpoint, raw(api))
        after = time.time()
        assert answer.status == status
        assert_common_headers(answer)
        date = parsedate_to_datetime(answer.header("Date") or "").timestamp()
        # The date is set twice a second, which is late in a busy process.
        assert before - 10 < date < after + 1
        assert int(answer.header("Content-Length") or "-1") == len(answer.body) > 0
        assert answer.header("Transfer-Encoding") is None
        assert answer.header("Server") is None


def test_nothing_from_the_request_appears_in_a_header(api: Api) -> None:
    # CVE-2020-7695: what a client writes must not become a line of the answer.
    marker = "Zyzzyva"
    for target in (f"/%0d%0aX-{marker}:1", f"/{marker}", f"/v1/models?{marker}"):
        for method in ("GET", marker):
            fields = [
                *api.usual_fields,
                (f"X-{marker}", marker),
                ("User-Agent", marker),
            ]
            [answer] = ask(api.endpoint, request(method, target, fields))
            assert marker.encode() not in answer.head + answer.body
    for field in ("Authorization", "Content-Type", "Expect", "Connection", "Host"):
        raw = request("GET", f"/{marker}", [("Host", "x"), (field, marker)])
        [answer] = ask(api.endpoint, raw)
        assert marker.encode() not in answer.head + answer.body


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


@pytest.mark.parametrize("value", ["", "Basic KEY", "Bearer KEYx", "Bearer \xff"])
def test_a_wrong_key_leaves_the_connection_open(api: Api, value: str) -> None:
    field = ("Authorization", value.replace("KEY", api.key))
    raw = request("GET", MODELS, [api.host, field])
    answers = ask(api.endpoint, raw + request("GET", MODELS, api.usual_fields))
    assert statuses(answers) == [401, 200]


def test_a_key_in_the_name_of_a_program_is_not_stored(server: Server, api: Api) -> None:
    program = ("User-Agent", f"careless/1 {api.key}")
    assert_success(api.ask("GET", MODELS, [*api.usual_fields, program]))

    def stored() -> bytes:
        folder = server.folder / "data"
        return b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())

    wait_until(lambda: b"careless/1 [key]" in stored(), "the request is in the journal")
    assert api.key.encode() not in stored()
