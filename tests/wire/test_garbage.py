"""Bytes that are not HTTP, and a connection after a malformed request."""

import pytest

from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    pieces_of,
    post,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.tables import each
from tests.support.wire import Endpoint

TLS_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(range(160))
NOT_HTTP = {
    "the HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "the preface of another draft": b"PRI * HTTP/1.1\r\n\r\nSM\r\n\r\n",
    "a TLS hello": TLS_HELLO,
    "an SSL 2 hello": bytes.fromhex(
        "802e0100020015000000100100800200800300800400800500"
    ),
    "a proxy's line": b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n",
    "a proxy's binary line": b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + bytes(12),
    "SMTP": b"EHLO example.org\r\n\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.0\r\n\r\n",
    "JSON": b'{"model":"x"}\r\n\r\n',
    "zeros": bytes(1000),
    "high bytes": b"\xff" * 1000,
    "spaces": b" " * 100 + b"\r\n\r\n",
    "line feeds": b"\n" * 100,
    "carriage returns": b"\r" * 100,
    "a byte order mark": b"\xef\xbb\xbfGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "UTF-16": "GET / HTTP/1.1\r\nHost: x\r\n\r\n".encode("utf-16-le"),
    "the ends swapped": b"GET / HTTP/1.1\n\rHost: x\n\r\n\r",
}
# A proxy's line could still become a request line, so it is refused only after an
# empty line.
COMPLETED = {
    name: raw + b"\r\n\r\n" if name == "a proxy's line" else raw
    for name, raw in NOT_HTTP.items()
}


@each("raw", COMPLETED)
@pytest.mark.parametrize("size", [1_000_000, 1])
def test_bytes_that_are_not_http_are_refused(
    echo: Endpoint, raw: bytes, size: int
) -> None:
    # At once: a TLS client waits for our hello, and must not wait for a time-out.
    with echo.connect() as connection:
        for piece in pieces_of(raw, size):
            connection.send(piece)
        assert_closing_refusal([connection.read_answer()], "malformed_request")
        assert connection.rest() == b""


@pytest.mark.parametrize(
    "bad",
    [
        b"garbage\r\n\r\n",
        b"\x00",
        post(b"X : y"),
        post_chunks(b"x\r\n"),
        b"G /" * 20_000,
    ],
    ids=["line", "byte", "field", "chunk", "target"],
)
def test_a_good_request_after_a_refused_one_is_not_read(
    echo: Endpoint, bad: bytes
) -> None:
    with echo.connect() as connection:
        connection.send(bad)
        assert connection.read_answer().status in (400, 414)
        for _ in range(5):
            connection.send(GOOD)
        assert connection.rest() == b""


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_few_empty_lines_before_a_request_are_ignored(
    echo: Endpoint, number: int
) -> None:
    # RFC 9112 §2.2: at least one, because some clients send one after a body.
    raw = (b"\r\n" * number + GOOD) * 8
    for size in (len(raw), 1, 7):
        assert statuses(ask(echo, *pieces_of(raw, size))) == [200] * 8


@pytest.mark.parametrize("number", [5, 50, 5000])
def test_more_empty_lines_before_a_request_are_refused(
    echo: Endpoint, number: int
) -> None:
    raw = b"\r\n" * number + GOOD
    for size in (len(raw), 1 if number < 5000 else 777):
        pieces = pieces_of(raw, size)
        assert_closing_refusal(ask(echo, *pieces), "malformed_request")
        after_another = ask(echo, GOOD, *pieces)
        assert statuses(after_another) == [200, 400]


@pytest.mark.parametrize("same", [True, False])
def test_empty_lines_between_requests_do_not_add_up(echo: Endpoint, same: bool) -> None:
    # The second and later requests are recognised by their bytes or lines; an empty
    # line before each of them counts for that one alone, however it arrives.
    with echo.connect() as connection:
        for number in range(20):
            raw = GOOD if same else post_body(b"x" * number)
            connection.send_in_segments(b"\r\n", raw)
            assert connection.read_answer().status == 200


@pytest.mark.parametrize("before", [b"\n", b"\r", b" \r\n", b"\t\r\n", b"\r\n ", b"\0"])
def test_anything_else_before_a_request_is_refused(
    echo: Endpoint, before: bytes
) -> None:
    assert_closing_refusal(ask(echo, before + GOOD), "malformed_request")
