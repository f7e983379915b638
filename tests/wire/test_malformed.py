"""Bytes that are not HTTP, and invalid lines (RFC 9112 §5, RFC 9110 §5.5)."""

import pytest

from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    pieces_of,
    post,
    post_body,
    statuses,
)
from tests.support.tables import each
from tests.support.wire import Endpoint

TLS_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(range(160))
NOT_HTTP = {
    "the HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a TLS hello": TLS_HELLO,
    # It begins like a request line, so it is refused only after the empty line.
    "a proxy's line": b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n\r\n\r\n",
    "a proxy's binary line": b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + bytes(12),
    "SSH": b"SSH-2.0-OpenSSH_9.0\r\n\r\n",
    "JSON": b'{"model":"x"}\r\n\r\n',
    "spaces": b" " * 100 + b"\r\n\r\n",
    "line feeds": b"\n" * 100,
    "carriage returns": b"\r" * 100,
    "a byte order mark": b"\xef\xbb\xbfGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "the ends swapped": b"GET / HTTP/1.1\n\rHost: x\n\r\n\r",
}


@each("raw", NOT_HTTP)
@pytest.mark.parametrize("size", [1_000_000, 1])
def test_bytes_that_are_not_http_are_refused(
    echo: Endpoint, raw: bytes, size: int
) -> None:
    # The refusal must not wait for more data: a TLS client would wait for a ServerHello
    # until it timed out.
    with echo.connect() as connection:
        for piece in pieces_of(raw, size):
            connection.send(piece)
        assert_closing_refusal([connection.read_answer()], "malformed_request")
        assert connection.rest() == b""


def test_a_few_empty_lines_before_a_request_are_ignored(echo: Endpoint) -> None:
    # RFC 9112 §2.2: a server should ignore at least one empty line, because some
    # clients send one after a body.
    for number in (1, 2, 4):
        raw = (b"\r\n" * number + GOOD) * 8
        for size in (len(raw), 1, 7):
            assert statuses(ask(echo, *pieces_of(raw, size))) == [200] * 8


def test_more_empty_lines_before_a_request_are_refused(echo: Endpoint) -> None:
    for number, size in ((5, 1), (5, 50), (50, 1), (5000, 20_000), (5000, 777)):
        pieces = pieces_of(b"\r\n" * number + GOOD, size)
        assert_closing_refusal(ask(echo, *pieces), "malformed_request")
        assert statuses(ask(echo, GOOD, *pieces)) == [200, 400]


def test_empty_lines_between_requests_do_not_add_up(echo: Endpoint) -> None:
    # After the first request, its head is recognized instead of parsed.
    others = [post_body(b"x" * number) for number in range(20)]
    with echo.connect() as connection:
        for raw in (*[GOOD] * 20, *others):
            connection.send_in_segments(b"\r\n", raw)
            assert connection.read_answer().status == 200


BAD_LINES = {
    "a fold": b"X-A: 1\r\n 2",
    "a space before the colon": b"X-A : 1",
    "a space in the name": b"X A: 1",
    "no colon": b"X-A",
    "no name": b": 1",
    "a NUL in the name": b"X\x00A: 1",
    "a NUL in the value": b"X-A: a\x00b",
    "a DEL in the value": b"X-A: a\x7fb",
    "a bare CR in the value": b"X-A: a\rb",
    "a bare LF for a line end": b"X-A: a\nX-B: b",
    "CVE-2025-23167: a CR alone for an empty line": b"X-A: a\r\n\rX: b",
}

BAD_VERSIONS = (
    b"HTTP/0.9 HTTP/1.10 HTTP/01.1 HTTP/2.0 HTTP/2 HTTP/1 HTTP/1. HTTP/11 HTTP/1.1x "
    b"HTTP/1.x HTTP1.1 http/1.1 HTTPS/1.1 RTSP/1.0 HTTP"
).split()

BAD_REQUEST_LINES = {
    **{repr(version): b"GET / " + version for version in BAD_VERSIONS},
    **{
        f"{before!r} before it": before + b"GET / HTTP/1.1"
        for before in (b"\n", b"\r", b" \r\n", b"\t\r\n", b"\r\n ", b"\0")
    },
    "no version": b"GET /",
    "a method alone": b"GET",
    "two spaces first": b"GET  / HTTP/1.1",
    "tabs": b"GET\t/\tHTTP/1.1",
    "a space at the end": b"GET / HTTP/1.1 ",
    "a space first": b" GET / HTTP/1.1",
    "a space in the target": b"GET /a b HTTP/1.1",
    "an answer's line": b"HTTP/1.1 200 OK",
}


@each("lines", BAD_LINES)
def test_a_line_that_is_not_a_field_is_refused(echo: Endpoint, lines: bytes) -> None:
    first = b"GET / HTTP/1.1\r\n" + lines + b"\r\nHost: x\r\n\r\n"
    for raw in (post(lines), first):
        assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


@each("line", BAD_REQUEST_LINES)
def test_a_request_line_of_another_form_is_refused(echo: Endpoint, line: bytes) -> None:
    raw = line + b"\r\nHost: x\r\n\r\n"
    assert_closing_refusal(ask(echo, raw + GOOD), "malformed_request")


def test_a_field_may_contain_anything_else(echo: Endpoint) -> None:
    for line in (
        *[b"X:", b"X: ", b"X:\t \t", b"X:y", b"X: \xff\x80", b"!#$%&'*+-.^_`|~0z: 1"],
        *[b'X: (),/:;<=>?@[\\]{}"', b"X: a\tb", b"x: 1\r\nX: 2", b"X: " + b"y" * 8000],
    ):
        assert statuses(ask(echo, post(line), GOOD)) == [200, 200], line


def test_white_space_around_a_value_is_not_part_of_it(echo: Endpoint) -> None:
    # RFC 9110 §5.5; llhttp keeps the white space at the end.
    [answer] = ask(echo, post(b"Content-Type: \t text/x \t"))
    assert answer.header("Content-Type") == "text/x"
