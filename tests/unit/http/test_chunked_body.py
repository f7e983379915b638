"""An accepted chunked body is decoded as by llhttp, however its bytes are split."""

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from types import SimpleNamespace

from httptools import HttpParserError, HttpRequestParser
from hypothesis import given, settings
from hypothesis import strategies as st

from readback.http.chunked_body import ChunkedBody
from readback.http.head import Refused

MAX_FRAMING = 200
MAX_BODY = 50
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

# Every token that has a meaning, and some that have none.
TOKENS = [
    *[b"0", b"1", b"2", b"a", b"3\r\nabc\r\n", b"1\r\n\r\r\n", b"0\r\n\r\n", b"\r\n"],
    *[b"\r", b"\n", b";", b"=", b'"', b"\\", b";a", b";a=b", b';a="b"', b"X: y\r\n"],
    *[b"x", b"\0", b"\xff", b":", b"0\r\n", b"ffffffffffffffff", b"00000000", b"{"],
    *[b"Content-Length:1\r\n", b"transfer-encoding:chunked\r\n", b"X:y\r\n"],
    *[b" ", b"\t", b" ; a = b", b' ;\ta="b c"'],
]


def decoded(pieces: Iterable[bytes]) -> bytes | str | None:
    """Return the body, the reason why it is refused, or None if it is not complete."""
    chunks, buffer, start = ChunkedBody(MAX_FRAMING), bytearray(), 0
    try:
        for piece in pieces:
            buffer += piece
            start = chunks.read(buffer, start, MAX_BODY)
    except Refused as refused:
        return refused.detail
    return bytes(chunks.body) if chunks.complete else None


def decoded_by_llhttp(raw: bytes) -> bytes | None:
    """Return the body, or None if it is not complete."""
    body, ends = bytearray(), []
    receiver = SimpleNamespace(
        on_body=body.extend, on_message_complete=lambda: ends.append(len(body))
    )
    parser = HttpRequestParser(receiver)
    with suppress(HttpParserError):  # the bytes after the body may be invalid
        parser.feed_data(HEAD + raw)
    return bytes(body[: ends[0]]) if ends else None


@settings(max_examples=800)
@given(
    st.lists(st.sampled_from(TOKENS), max_size=8).map(b"".join),
    st.sets(st.integers(1, 60), max_size=6),
)
def test_a_body_is_decoded_as_by_llhttp_wherever_it_is_cut(
    raw: bytes, cuts: set[int]
) -> None:
    body = decoded([raw])
    assert decoded(raw[a:b] for a, b in pairwise([0, *sorted(cuts), len(raw)])) == body
    assert decoded(bytes([byte]) for byte in raw) == body
    # llhttp refuses white space that RFC 9112 §7.1.1 allows.
    if isinstance(body, bytes) and not {*raw} & {*b" \t"}:
        assert decoded_by_llhttp(raw) == body


def test_a_line_that_cannot_become_a_size_is_refused_at_once() -> None:
    for byte in (b"x", b"{", b";", b" ", b"\r\n", b"\n", b"-"):
        for start in (b"", b"1\r\nx\r\n"):
            reason = decoded([start + byte])
            assert reason == "The chunked body is not well formed."
