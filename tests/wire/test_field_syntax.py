"""Invalid field lines, request lines and versions (RFC 9112 §5, RFC 9110 §5.5)."""

import pytest

from tests.support.raw_requests import GOOD, ask, assert_closing_refusal, post, statuses
from tests.support.tables import each
from tests.support.wire import Endpoint

BAD_LINES = {
    "a fold": b"X-A: 1\r\n 2",
    "a fold of nothing": b"X-A: 1\r\n \r\nX-B: 2",
    "a space before the colon": b"X-A : 1",
    "a space in the name": b"X A: 1",
    "no colon": b"X-A",
    "no name": b": 1",
    "a colon alone": b":",
    "brackets in the name": b"X(A): 1",
    "a NUL in the name": b"X\x00A: 1",
    "a high byte in the name": b"X\xffA: 1",
    "a NUL in the value": b"X-A: a\x00b",
    "a bell in the value": b"X-A: \x07",
    "a DEL in the value": b"X-A: a\x7fb",
    "a bare CR in the value": b"X-A: a\rb",
    "a bare CR before the line end": b"X-A: a\r\r\nX-B: b",
    "a bare LF for a line end": b"X-A: a\nX-B: b",
    "an LF before the CR": b"X-A: a\n\r\nX-B: b",
    "CVE-2025-23167: a CR alone for an empty line": b"X-A: a\r\n\rX: b",
}

BAD_VERSIONS = (
    b"HTTP/0.9 HTTP/1.10 HTTP/1.12 HTTP/1.01 HTTP/01.1 HTTP/2.0 HTTP/2 HTTP/3.0 HTTP/1 "
    b"HTTP/1. HTTP/.1 HTTP/11 HTTP/1.1x HTTP/1,1 HTTP/-1.1 HTTP/+1.1 HTTP/1.x HTTP1.1 "
    b"http/1.1 Http/1.1 HTTPS/1.1 XHTTP/1.1 RTSP/1.0 ICE/1.0 SIP/2.0 HTTP"
).split()

BAD_LINE_FORMS = {
    "no version": b"GET /",
    "a method alone": b"GET",
    "two spaces first": b"GET  / HTTP/1.1",
    "tabs": b"GET\t/\tHTTP/1.1",
    "a space at the end": b"GET / HTTP/1.1 ",
    "an extra word": b"GET / HTTP/1.1 x",
    "a space first": b" GET / HTTP/1.1",
    "a space in the target": b"GET /a b HTTP/1.1",
    "no spaces": b"GET/HTTP/1.1",
    "a no-break space": b"GET\xa0/ HTTP/1.1",
    "an answer's line": b"HTTP/1.1 200 OK",
}


@each("lines", BAD_LINES)
def test_a_line_that_is_not_a_field_is_refused(echo: Endpoint, lines: bytes) -> None:
    first = b"GET / HTTP/1.1\r\n" + lines + b"\r\nHost: x\r\n\r\n"
    for raw in (post(lines), first):
        assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@pytest.mark.parametrize("version", BAD_VERSIONS, ids=repr)
def test_a_version_other_than_1_0_and_1_1_is_refused(
    echo: Endpoint, version: bytes
) -> None:
    raw = b"GET / " + version + b"\r\nHost: x\r\n\r\n"
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@each("line", BAD_LINE_FORMS)
def test_a_request_line_of_another_form_is_refused(echo: Endpoint, line: bytes) -> None:
    raw = line + b"\r\nHost: x\r\n\r\n"
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@pytest.mark.parametrize(
    "line",
    [b"X:", b"X: ", b"X:\t \t", b"X:y", b"X: \xff\x80", b"!#$%&'*+-.^_`|~0z: 1"]
    + [b'X: (),/:;<=>?@[\\]{}"', b"X: a\tb", b"x: 1\r\nX: 2", b"X: " + b"y" * 8000],
    ids=lambda line: repr(line[:20]),
)
def test_a_field_may_contain_anything_else(echo: Endpoint, line: bytes) -> None:
    assert statuses(ask(echo, post(line), GOOD)) == [200, 200]


def test_white_space_around_a_value_is_not_part_of_it(echo: Endpoint) -> None:
    # RFC 9110 §5.5; llhttp keeps the white space at the end.
    [answer] = ask(echo, post(b"Content-Type: \t text/x \t", b"Content-Length: 0"))
    assert answer.header("Content-Type") == "text/x"
