"""Expect: 100-continue (RFC 9110 §10.1.1): leave to send, once, or the refusal."""

import pytest

from tests.support.api import CHAT, Api, assert_refused, compact, draft
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_in_step,
    assert_turned_away,
    post,
    sized,
    statuses,
)
from tests.support.wire import Endpoint, request

WAITS = b"Expect: 100-continue"


@pytest.mark.parametrize("value", [b"100-continue", b"100-Continue", b" 100-CONTINUE "])
@pytest.mark.parametrize(
    "framing", [b"Content-Length: 2", b"Transfer-Encoding: chunked"]
)
def test_a_client_that_waits_gets_leave_once(
    echo: Endpoint, value: bytes, framing: bytes
) -> None:
    body = b"ab" if framing.startswith(b"C") else b"2\r\nab\r\n0\r\n\r\n"
    with echo.connect() as connection:
        connection.send(post(framing, b"Expect: " + value))
        leave = connection.read_answer()
        assert (leave.head, leave.body) == (b"HTTP/1.1 100 Continue", b"")
        for piece in (body[:1], body[1:]):
            connection.send(piece)
        answer = connection.read_answer()
        assert (answer.status, answer.body) == (200, b"ab")
        assert_in_step(connection)


def test_a_body_that_is_already_here_needs_no_leave(echo: Endpoint) -> None:
    assert statuses(ask(echo, sized(b"ab", WAITS) + GOOD)) == [200, 200]


def test_without_a_body_there_is_nothing_to_wait_for(echo: Endpoint) -> None:
    assert statuses(ask(echo, post(WAITS), sized(b"", WAITS), GOOD)) == [200] * 3


def test_http_1_0_does_not_know_leave(echo: Endpoint) -> None:
    raw = sized(b"ab", WAITS).replace(b"HTTP/1.1", b"HTTP/1.0")
    with echo.connect() as connection:
        connection.send(raw[:-2])
        connection.send(raw[-2:])
        answer = connection.read_answer()
        assert (answer.status, answer.body) == (200, b"ab")
        assert connection.rest() == b""


@pytest.mark.parametrize("value", [b"x", b"", b"100-continued", b"100", b"200-ok"])
def test_another_expectation_is_passed_over(echo: Endpoint, value: bytes) -> None:
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
def test_a_bad_head_gets_the_refusal_and_no_leave(
    echo: Endpoint, line: bytes, code: str
) -> None:
    with echo.connect() as connection:
        connection.send(post(line, WAITS))
        answer = connection.read_answer()
        assert_turned_away([answer], code)
        assert connection.rest() == b""


def test_a_refusal_in_place_of_leave_ends_the_connection(api: Api) -> None:
    # The client may send the body all the same, or not: only closing is safe.
    waits, length = ("Expect", "100-continue"), ("Content-Length", "100")
    for target, fields, code in (
        ("/v1/x", api.known, "not_found"),
        (CHAT, [api.host], "invalid_key"),
    ):
        with api.endpoint.connect() as connection:
            connection.send(request("POST", target, [*fields, length, waits]))
            answer = connection.read_answer()
            assert_refused(answer, code)
            assert answer.header("Connection") == "close"
            connection.send(compact(draft("x")) + request("GET", "/", api.known))
            assert connection.rest() == b""
