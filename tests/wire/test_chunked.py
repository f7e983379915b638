"""The chunked coding (RFC 9112 §7.1): its grammar, limits and trailers."""

from tests.support.api import CHAT, Api, assert_echo, assert_refused, compact, draft
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_closing_refusal,
    code_of,
    pieces_of,
    post_chunks,
    statuses,
)
from tests.support.tables import each
from tests.support.wire import Endpoint, chunked, request

BAD_CHUNKS = {
    "no size": b"\r\nab\r\n0\r\n\r\n",
    "a plus sign": b"+2\r\nab\r\n0\r\n\r\n",
    "a space first": b" 2\r\nab\r\n0\r\n\r\n",
    "more than 64 bits": b"1" + b"0" * 15 + b"2\r\nab\r\n0\r\n\r\n",
    "an extension without a size": b";a\r\nab\r\n0\r\n\r\n",
    "a bare LF after the size": b"2\nab\r\n0\r\n\r\n",
    "CVE-2024-52304: a bare LF in an extension": b"2;a\nb\r\nab\r\n0\r\n\r\n",
    "a space after the size": b"2 \r\nab\r\n0\r\n\r\n",
    "a space after an extension": b"2;a \r\nab\r\n0\r\n\r\n",
    "a space in a name": b"2;a b\r\nab\r\n0\r\n\r\n",
    "a fold in an extension": b"2;\r\n a\r\nab\r\n0\r\n\r\n",
    "CVE-2021-22960: a bare LF before an extension": b"2\n;a\r\nab\r\n0\r\n\r\n",
    "a bare LF in quotes": b'2;a="\n"\r\nab\r\n0\r\n\r\n',
    "an open quote": b'2;a="b\r\nab\r\n0\r\n\r\n',
    "a word after quotes": b'2;a="b"c\r\nab\r\n0\r\n\r\n',
    "a semicolon alone": b"2;\r\nab\r\n0\r\n\r\n",
    "a NUL in an extension": b"2;a\x00b\r\nab\r\n0\r\n\r\n",
    "too much data": b"2\r\nabc\r\n0\r\n\r\n",
    "a bare LF after the data": b"2\r\nab\n0\r\n\r\n",
    "CVE-2025-43859: other bytes after the data": b"2\r\nabXX0\r\n\r\n",
    "a bare LF at the end": b"2\r\nab\r\n0\r\n\n",
    "a bare CR at the end": b"2\r\nab\r\n0\r\n\rX",
    "CVE-2025-53643: a length among the trailers": b"0\r\nContent-Length: 5\r\n\r\n",
    "a coding among the trailers": b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a trailer with a space": b"0\r\nX Y: z\r\n\r\n",
    "a folded trailer": b"0\r\nX: y\r\n z\r\n\r\n",
    "a NUL in a trailer": b"0\r\nX: \x00\r\n\r\n",
    "a bare LF in a trailer": b"0\r\nX: y\nZ: 1\r\n\r\n",
}

GOOD_CHUNKS = {
    "two chunks": b"1\r\na\r\n1\r\nb\r\n0\r\n\r\n",
    "leading zeros": b"00000002\r\nab\r\n000\r\n\r\n",
    "an extension with a value": b"2;a=b\r\nab\r\n0\r\n\r\n",
    "an extension in quotes": b'2;a="b c"\r\nab\r\n0\r\n\r\n',
    "spaces around everything": b'2 ; a = "b;=" \t; c ;d=e\r\nab\r\n0\r\n\r\n',
    "an escaped quote": b'2;a="\\"\\\\;"\r\nab\r\n0\r\n\r\n',
    "a trailer": b"2\r\nab\r\n0\r\nX: y\r\n\r\n",
    "many trailers": b"2\r\nab\r\n0\r\n" + b"X: y\r\n" * 100 + b"\r\n",
}


@each("chunks", BAD_CHUNKS)
def test_a_bad_chunk_is_refused(echo: Endpoint, chunks: bytes) -> None:
    assert_closing_refusal(ask(echo, post_chunks(chunks) + GOOD), "malformed_request")
    after_good_one = post_chunks(b"1\r\n\n\r\n" + chunks) + GOOD
    answers = ask(echo, *pieces_of(after_good_one, 5))
    assert_closing_refusal(answers, "malformed_request")


@each("chunks", GOOD_CHUNKS)
def test_chunks_become_the_body(echo: Endpoint, chunks: bytes) -> None:
    for size in (100_000, 1, 3):
        answers = ask(echo, *pieces_of(post_chunks(chunks) + GOOD, size))
        assert [answer.body for answer in answers] == [b"ab", b"hello\n"]


def test_any_bytes_are_returned_from_chunks_of_any_size(echo: Endpoint) -> None:
    for size in (1, 15, 16, 255, 65_536):
        body = bytes(range(256)) * min(size, 30) + b"\r\n0\r\n\r\n" + b"\r" * 10
        answers = ask(echo, post_chunks(chunked(body, size)), GOOD)
        assert [answer.body for answer in answers] == [body, b"hello\n"]


def test_a_body_may_have_512_chunks_and_no_more(api: Api) -> None:
    # CVE-2025-69229: many small chunks blocked aiohttp.
    body = compact(draft("x"))
    most = body + b" " * (512 - len(body))
    assert_echo(api.chat_in_chunks(most, size=1), "x")
    detail = assert_refused(
        api.chat_in_chunks(most + b" ", size=1), "malformed_request"
    )
    assert "512 chunks" in detail


# CVE-2024-22019 (Node.js: extensions) and CVE-2026-22815 (aiohttp: trailers).
@each(
    "chunks",
    {
        "an extension": b"2;" + b"a" * 1_000_000,
        "quotes": b'2;a="' + b"b" * 1_000_000,
        "many extensions": (b"1;" + b"a" * 100 + b"\r\nx\r\n") * 1000,
        "zeros": b"0" * 100_000,
        "trailers": b"2\r\nab\r\n0\r\n" + b"X: y\r\n" * 100_000,
        "513 trailers": b"2\r\nab\r\n0\r\n" + b"X: y\r\n" * 513,
        "a trailer": b"2\r\nab\r\n0\r\nX: " + b"y" * 1_000_000,
    },
)
def test_chunk_extensions_and_trailers_are_bounded(
    echo: Endpoint, chunks: bytes
) -> None:
    with echo.connect() as connection:
        connection.send(post_chunks(chunks))
        answer = connection.read_answer()
    assert (answer.status, code_of(answer)) == (400, "malformed_request")


def test_a_trailer_is_not_a_header(api: Api, echo: Endpoint) -> None:
    # RFC 9110 §6.5.1. An earlier version accepted a key that followed the body.
    media = ("Content-Type", "application/json")
    fields = [api.host, media, ("Trailer", "Authorization")]
    raw = request("POST", CHAT, [*fields, ("Transfer-Encoding", "chunked")])
    body = chunked(compact(draft("x"))).removesuffix(b"\r\n")
    trailer = f"Authorization: {api.bearer[1]}\r\n\r\n".encode()
    assert_refused(api.send(raw + body + trailer), "invalid_key")
    for field in (b"Connection: close", b"Host: y", b"Expect: 100-continue"):
        chunks = b"2\r\nab\r\n0\r\n" + field + b"\r\n\r\n"
        assert statuses(ask(echo, post_chunks(chunks) + GOOD)) == [200, 200]
