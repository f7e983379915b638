"""Answers before the body is read: a refusal, or a single 100 (RFC 9110 §10.1.1).

RFC 9112 §9.3 and §9.6: after a refusal, either the body is read to its end and the
connection stays open, or the connection is closed without a reset, so that the client
can read why. The rest of the body is never taken for a request.
"""

import pytest

from tests.support.api import (
    CHAT,
    MODELS,
    Api,
    assert_echo,
    assert_refused,
    compact,
    draft,
)
from tests.support.echo_server import NO_TUNNEL
from tests.support.listener import limits, listening
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    assert_in_sync,
    pieces_of,
    post,
    post_body,
    statuses,
)
from tests.support.wire import Endpoint, chunked, request

JSON = ("Content-Type", "application/json")


def sent_to(api: Api, target: str, body: bytes, *fields: tuple[str, str]) -> bytes:
    length = ("Content-Length", str(len(body)))
    return request("POST", target, [api.host, *fields, length], body)


@pytest.mark.parametrize("size", [1, 1000, 32_768])
def test_a_small_refused_body_is_skipped_and_the_connection_stays_open(
    api: Api, size: int
) -> None:
    # The body is itself a request, which must not be answered.
    smuggled = api.chat_bytes(draft("smuggled"))
    body = (smuggled * (size // len(smuggled) + 1))[:size]
    raw = sent_to(api, "/v1/x", body, api.bearer)
    raw += sent_to(api, CHAT, body, JSON)
    raw += api.chat_bytes(draft("next"))
    for piece in (1_000_000, 997):
        answers = ask(api.endpoint, *pieces_of(raw, piece))
        assert statuses(answers) == [404, 401, 200]
        assert_echo(answers[2], "next")


@pytest.mark.parametrize(
    ("target", "code"),
    [("/v1/x", "not_found"), (MODELS, "not_found"), (CHAT, "request_too_large")],
)
@pytest.mark.parametrize("size", [32_769, 200_000, 5 * 1024 * 1024])
def test_a_large_refused_body_does_not_reset_the_connection(
    api: Api, target: str, code: str, size: int
) -> None:
    smuggled = request("GET", MODELS, api.usual_fields)
    body = b" " * (size - len(smuggled)) + smuggled
    for _ in range(5):
        with api.endpoint.connect() as connection:
            connection.send(sent_to(api, target, body, api.bearer, JSON))
            answer = connection.read_answer()
            assert_closing_refusal([answer], code)
            assert connection.rest() == b""


def test_the_refusal_does_not_wait_for_the_body(api: Api) -> None:
    waits = ("Expect", "100-continue")
    for target, fields, length, code in (
        ("/v1/x", [], 32_768, "not_found"),
        (CHAT, [], 32_768, "invalid_key"),
        (CHAT, [api.bearer, JSON], 32_769, "request_too_large"),
        ("/v1/x", [api.bearer, waits], 100, "not_found"),
        (CHAT, [waits], 100, "invalid_key"),
    ):
        fields = [api.host, *fields, ("Content-Length", str(length))]
        with api.endpoint.connect() as connection:
            connection.send(request("POST", target, fields))
            answer = connection.read_answer()
            assert_refused(answer, code)
            if waits in fields:
                # The client may or may not send the body, so only closing is safe.
                assert answer.header("Connection") == "close"
                connection.send(compact(draft("x")) + request("GET", MODELS, fields))
                assert connection.rest() == b""


def test_chunks_after_a_refusal_are_not_read_as_a_request(api: Api) -> None:
    coding = ("Transfer-Encoding", "chunked")
    good = request("GET", MODELS, api.usual_fields)
    for body in (chunked(good), b"0\r\n\r\n" + good, good, b""):
        raw = request("POST", "/v1/x", [*api.usual_fields, coding]) + body
        assert_closing_refusal(ask(api.endpoint, raw), "not_found")
        raw = request("POST", CHAT, [api.host, coding]) + body
        assert_closing_refusal(ask(api.endpoint, raw), "invalid_key")


def test_a_refused_body_that_is_cut_off_ends_the_connection(api: Api) -> None:
    raw = sent_to(api, "/v1/x", compact(draft("x")))
    [answer] = ask(api.endpoint, raw[:-1])
    assert_refused(answer, "not_found")


@pytest.mark.parametrize("part", [b"", b"part"])
def test_a_client_that_never_ends_a_refused_body_is_closed_to_make_room(
    part: bytes,
) -> None:
    one = limits(connections=1, closes_slowest=True)
    with (
        listening(limits=one, own_time=True) as listener,
        listener.endpoint.connect() as slow,
    ):
        listener.handler.begin = lambda *_: NO_TUNNEL  # without reading the body
        slow.send(post(b"Content-Length: 100", body=part))
        assert slow.read_answer().status == 501
        with listener.endpoint.connect() as other:
            other.send(GOOD)
            assert other.read_answer().status == 501
            assert slow.rest() == b""


EXPECTS = b"Expect: 100-continue"


@pytest.mark.parametrize("value", [b"100-continue", b"100-Continue", b" 100-CONTINUE "])
@pytest.mark.parametrize(
    ("framing", "body"),
    [
        (b"Content-Length: 2", b"ab"),
        (b"Transfer-Encoding: chunked", b"2\r\nab\r\n0\r\n\r\n"),
    ],
)
def test_a_waiting_client_gets_one_100_continue(
    echo: Endpoint, value: bytes, framing: bytes, body: bytes
) -> None:
    with echo.connect() as connection:
        connection.send(post(framing, b"Expect: " + value))
        interim = connection.read_answer()
        assert (interim.head, interim.body) == (b"HTTP/1.1 100 Continue", b"")
        for piece in (body[:1], body[1:]):
            connection.send(piece)
        answer = connection.read_answer()
        assert (answer.status, answer.body) == (200, b"ab")
        assert_in_sync(connection)


def test_a_client_that_does_not_wait_gets_no_100(echo: Endpoint) -> None:
    for raw in (post_body(b"ab", EXPECTS), post(EXPECTS), post_body(b"", EXPECTS)):
        assert statuses(ask(echo, raw + GOOD)) == [200, 200]
    expects = post(b"Content-Length: 2", EXPECTS).replace(b"HTTP/1.1", b"HTTP/1.0")
    assert statuses(ask(echo, expects, b"ab")) == [200]
    for value in (b"x", b"", b"100-continued", b"100", b"200-ok"):
        raw = post(b"Content-Length: 2", b"Expect: " + value)
        assert statuses(ask(echo, raw, b"ab", GOOD)) == [200, 200]


def test_a_bad_head_gets_the_refusal_and_no_100(echo: Endpoint) -> None:
    for line, code in {
        b"Content-Length: x": "malformed_request",
        b"Content-Length: 2\r\nHost: y": "malformed_request",
        b"Content-Length: 2000000": "request_too_large",
        b"Transfer-Encoding: gzip, chunked": "unsupported_transfer_coding",
    }.items():
        assert_closing_refusal(ask(echo, post(line, EXPECTS)), code)
