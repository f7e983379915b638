"""Methods are case-sensitive tokens (RFC 9110 §9.1).

Whether a request has a body depends on its framing alone (RFC 9112 §6), and the answer
to HEAD has none (RFC 9110 §9.3.2).
"""

import pytest

from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    pieces_of,
    post_body,
    statuses,
)
from tests.support.tables import each, words
from tests.support.wire import Endpoint, request

# llhttp's table of methods lacks many of these.
METHODS = words("""
    POST PUT DELETE OPTIONS PATCH TRACE QUERY PRI PROPFIND M-SEARCH GET_PARAMETER BREW
    GE GETS XGET get Head HEADS P 1 ~ ! #x $x %x &x 'x' *x +x -x .x ^x _x `x |x
""")


@pytest.mark.parametrize("method", METHODS)
def test_any_token_is_a_method(echo: Endpoint, method: str) -> None:
    body = b"method " + method.encode()
    raw = request(method, "/", [("Host", "x"), ("Content-Length", str(len(body)))])
    answers = ask(echo, raw + body, GOOD)
    assert [answer.body for answer in answers] == [body, b"hello\n"]


@pytest.mark.parametrize(
    "method",
    [b"G(T", b"G@T", b"G,T", b"G:T", b"G/T", b"G\x7fT", b"G\x00T", b"\xff", b'"GET"'],
)
def test_a_method_that_is_not_a_token_is_refused(echo: Endpoint, method: bytes) -> None:
    raw = method + b" / HTTP/1.1\r\nHost: x\r\n\r\n"
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


def test_the_answer_to_head_has_no_body_whatever_the_request_has(
    echo: Endpoint,
) -> None:
    head, get = (post_body(GOOD).replace(b"POST", name) for name in (b"HEAD", b"GET"))
    answers = ask(echo, head + get + head + GOOD, bodiless=(0, 2))
    assert statuses(answers) == [200] * 4
    for answer, body in zip(answers, (b"", b"hello\n") * 2, strict=True):
        assert (answer.body, answer.header("Content-Length")) == (body, "6")


REFUSED_HEADS = {
    "a bad length": b"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
    "no version": b"HEAD /\r\n\r\n",
    "a target too long": b"HEAD /" + b"a" * 17_000,
    "a head too large": b"HEAD / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 17_000,
    "after an empty line": b"\r\nHEAD / HTTP/1.1\r\n\r\n",
    "a body too long": b"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n",
    "bad chunks": b"HEAD / HTTP/1.1\r\nHost: x\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nx\r\n",
}


@each("raw", REFUSED_HEADS)
@pytest.mark.parametrize("size", [100_000, 1000, 3])
def test_the_refusal_of_a_head_request_has_no_body(
    echo: Endpoint, raw: bytes, size: int
) -> None:
    # RFC 9110 §9.3.2. A client would mistake a body for the next answer.
    first, refusal = ask(echo, GOOD, *pieces_of(raw, size), bodiless=(1,))
    assert first.status == 200
    assert refusal.status >= 400 and refusal.body == b""
    assert refusal.header("Content-Length") != "0"


def test_a_refusal_of_empty_lines_after_a_head_request_has_a_body(
    echo: Endpoint,
) -> None:
    head = GOOD.replace(b"GET", b"HEAD")
    answers = ask(echo, head + b"\r\n" * 5 + GOOD, bodiless=(0,))
    assert answers[0].status == 200
    assert_closing_refusal(answers[1:], "malformed_request")


def test_a_refusal_of_a_method_like_head_has_a_body(echo: Endpoint) -> None:
    for method in (b"head", b"HEADS", b"HEAD\t/", b"AHEAD"):
        answers = ask(echo, method + b" / HTTP/1.1\r\n\r\n")
        assert_closing_refusal(answers, "malformed_request")
