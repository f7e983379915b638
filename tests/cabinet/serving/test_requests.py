"""Hostile, slow and large requests to the cabinet's server."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from readback.cabinet.serving.security_headers import headers_of
from readback.config import Config
from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint, exchange, request

HOST = ("Host", "localhost")
FORM = "/accounts/login/"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CabinetServer]:
    # Long enough for requests that are sent in pieces on a busy machine.
    settings = {
        "READBACK_HEAD_TIMEOUT": "5",
        "READBACK_BODY_TIMEOUT": "5",
        "READBACK_PUBLIC_BASE_URL": "https://api.example.org/v1",
    }
    with cabinet_server(tmp_path_factory.mktemp("requests"), settings) as running:
        wait_until(lambda: "Serving" in running.stderr, "the log has its first line")
        before = running.stderr
        yield running
        # Refused requests are not logged: otherwise anyone could fill the log.
        assert running.stderr == before


@pytest.fixture
def endpoint(server: CabinetServer) -> Endpoint:
    return Endpoint.of(server.url)


def get(*fields: tuple[str, str | bytes], target: str = "/") -> bytes:
    return request("GET", target, [HOST, *fields])


# tests/wire covers everything else that the parser refuses.
REFUSED = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400),
    "two hosts": (get(HOST), 400),
    "a length and a transfer coding": (
        get(("Content-Length", "1"), ("Transfer-Encoding", "chunked")),
        400,
    ),
    "a long target": (get(target="/" + 40_000 * "x"), 414),
    "too many fields": (get(*101 * [("X", "x")]), 431),
    "an endless head": (get(("X", 200_000 * "x")), 431),
    "a large body": (get(("Content-Length", "1000000")), 413),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_hostile_request_is_refused_in_one_line(
    endpoint: Endpoint, case: str
) -> None:
    raw, status = REFUSED[case]

    answer = exchange(endpoint, raw)

    # `exchange` expects the server to close the connection after this header.
    assert (answer.status, answer.header("Connection")) == (status, "close")
    # An empty body repeats no part of the request, and is also right for HEAD.
    assert answer.body == b""
    for name, value in headers_of(Config()).items():
        assert answer.header(name) == value


ACCEPTED = {
    "two empty lines": (b"\r\n\r\n" + get(), 200),
    "an unknown expectation": (get(("Expect", "a miracle")), 200),
    "a target of 9,000 bytes": (get(target="/" + 9000 * "x"), 404),
    "cookies of 20,000 bytes": (get(("Cookie", 20_000 * "x")), 200),
    "an absolute target": (get(target="http://localhost/"), 200),
    "an absolute target for another host": (get(target="http://elsewhere/"), 400),
    "a chunked form, without its token": (
        request("POST", FORM, [HOST, ("Transfer-Encoding", "chunked")])
        + b"3\r\na=b\r\n0\r\n\r\n",
        403,
    ),
    "a form that is too large for Django": (
        request("POST", FORM, [HOST, ("Content-Length", "200000")], 200_000 * b"x"),
        403,
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_an_unusual_request_is_answered_by_a_page(
    endpoint: Endpoint, case: str
) -> None:
    raw, status = ACCEPTED[case]
    with endpoint.connect() as connection:
        connection.send(raw)
        assert connection.read_answer().status == status
        connection.send(get())
        assert connection.read_answer().status == 200


def test_a_request_that_does_not_arrive_is_refused_after_a_time(
    endpoint: Endpoint,
) -> None:
    begun = [
        b"GET / HTT",
        get()[:-1],
        request("POST", FORM, [HOST, ("Content-Length", "10")], b"half"),
    ]
    with ThreadPoolExecutor(len(begun)) as pool:
        answers = list(pool.map(partial(exchange, endpoint), begun))

    refused = [(answer.status, answer.header("Connection")) for answer in answers]
    assert refused == [(408, "close")] * 3


CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE", "ANY"])
@pytest.mark.parametrize(
    "target", [CHAT, "/v1", "/v1/responses?a=b", "/chat/completions", "/models?a=b"]
)
def test_a_program_that_asks_the_cabinet_is_led_to_the_api(
    endpoint: Endpoint, method: str, target: str
) -> None:
    with endpoint.connect() as connection:
        for length in (2, 0):
            fields = [("Host", "elsewhere"), ("Content-Length", str(length))]
            connection.send(request(method, target, fields, length * b"{"))
            answer = connection.read_answer()
            assert (answer.status, answer.reason) == (404, "Not Found")
            message = "This is the cabinet; the API is at https://api.example.org/v1"
            assert json.loads(answer.body) == {
                "error": {"code": "not_found", "message": message}
            }
            assert answer.header("Content-Type") == "application/json"
            assert answer.header("Cache-Control") == "no-store"


def test_a_program_that_asks_the_cabinet_is_answered_before_its_body_arrives(
    endpoint: Endpoint,
) -> None:
    for framing in ("Content-Length: 9000000", "Transfer-Encoding: chunked"):
        with endpoint.connect() as connection:
            head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n"
            connection.send(head.encode() + b"12")
            assert connection.read_answer().status == 404


def test_the_answer_to_head_has_no_body(endpoint: Endpoint) -> None:
    with endpoint.connect() as connection:
        connection.send(request("HEAD", CHAT, [HOST]))
        assert connection.read_answer(bodiless=True).status == 404
        connection.send(get(target="/v1x"))
        # This address belongs to the pages, not to the API.
        assert b"<html" in connection.read_answer().body
