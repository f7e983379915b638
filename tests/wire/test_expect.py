"""Expect: 100-continue (RFC 9110 §10.1.1): one interim answer, or the refusal."""

import pytest

from tests.support.api import CHAT, Api, assert_refused, compact, draft
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    assert_in_sync,
    post,
    post_body,
    statuses,
)
from tests.support.wire import Endpoint, request

EXPECTS = b"Expect: 100-continue"


@pytest.mark.parametrize("value", [b"100-continue", b"100-Continue", b" 100-CONTINUE "])
@pytest.mark.parametrize(
    "framing", [b"Content-Length: 2", b"Transfer-Encoding: chunked"]
)
def test_a_waiting_client_gets_one_100_continue(
    echo: Endpoint, value: bytes, framing: bytes
) -> None:
    body = b"ab" if framing.startswith(b"C") else b"2\r\nab\r\n0\r\n\r\n"
    with echo.connect() as connection:
        connection.send(post(framing, b"Expect: " + value))
        interim = connection.read_answer()
        assert (interim.head, interim.body) == (b"HTTP/1.1 100 Continue", b"")
        for piece in (body[:1], body[1:]):
            connection.send(piece)
        answer = connection.read_answer()
        assert (answer.status, answer.body) == (200, b"ab")
        assert_in_sync(connection)


@pytest.mark.parametrize(
    "raw", [post_body(b"ab", EXPECTS), post(EXPECTS), post_body(b"", EXPECTS)]
)
def test_a_body_that_has_arrived_or_is_none_gets_no_100(
    echo: Endpoint, raw: bytes
) -> None:
    assert statuses(ask(echo, raw + GOOD)) == [200, 200]


def test_http_1_0_gets_no_100(echo: Endpoint) -> None:
    raw = post_body(b"ab", EXPECTS).replace(b"HTTP/1.1", b"HTTP/1.0")
    with echo.connect() as connection:
        connection.send(raw[:-2])
        connection.send(raw[-2:])
        answer = connection.read_answer()
        assert (answer.status, answer.body) == (200, b"ab")
        assert connection.rest() == b""


@pytest.mark.parametrize("value", [b"x", b"", b"100-continued", b"100", b"200-ok"])
def test_another_expectation_is_ignored(echo: Endpoint, value: bytes) -> None:
    raw = post(b"Content-Length: 2", b"Expect: " + value)
    assert statuses(ask(echo, raw, b"ab", GOOD)) == [200, 200]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"Content-Length: x", "malformed_request"),
        (b"Content-Length: 2\r\nHost: y", "malformed_request"),
        (b"Content-Length: 2000000", "request_too_large"),
        (b"Transfer-Encoding: gzip, chunked", "unsupported_transfer_coding"),
    ],
)
def test_a_bad_head_gets_the_refusal_and_no_100(
    echo: Endpoint, line: bytes, code: str
) -> None:
    with echo.connect() as connection:
        connection.send(post(line, EXPECTS))
        answer = connection.read_answer()
        assert_closing_refusal([answer], code)
        assert connection.rest() == b""


def test_a_refusal_instead_of_100_ends_the_connection(api: Api) -> None:
    # The client may send the body or not, so closing is the only safe choice.
    waits, length = ("Expect", "100-continue"), ("Content-Length", "100")
    for target, fields, code in (
        ("/v1/x", api.usual_fields, "not_found"),
        (CHAT, [api.host], "invalid_key"),
    ):
        with api.endpoint.connect() as connection:
            connection.send(request("POST", target, [*fields, length, waits]))
            answer = connection.read_answer()
            assert_refused(answer, code)
            assert answer.header("Connection") == "close"
            connection.send(compact(draft("x")) + request("GET", "/", api.usual_fields))
            assert connection.rest() == b""
