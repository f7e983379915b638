"""The two sizes of the contract: 8192 bytes of text, 32768 bytes of body.

The text is counted after its JSON escapes are decoded, the body as it is received, with
a declared length and in chunks.
"""

import pytest

from tests.support.api import (
    CHAT,
    Api,
    assert_echo,
    assert_refused,
    compact,
    draft,
)
from tests.support.tables import each
from tests.support.wire import chunked, request

AT_THE_LIMIT = {
    "ascii": "x" * 8192,
    "cyrillic": "д" * 4096,
    "three-byte letters": "€" * 2730 + "xx",
    "emoji": "😀" * 2048,
    "mixed": "a" + "я" * 2 + "€" * 1 + "😀" * 2046,
}
ONE_BYTE_OVER = {
    "ascii": "x" * 8193,
    "cyrillic": "д" * 4096 + "x",
    "three-byte letters": "€" * 2731,
    "emoji": "😀" * 2048 + "x",
    "mixed": "ab" + "я" * 2 + "€" * 1 + "😀" * 2046,
}


def padded(size: int, body: bytes | None = None) -> bytes:
    """Return a valid request, padded to this size with JSON white space."""
    body = body or compact(draft())
    return body + b" " * (size - len(body))


def in_escapes(text: str) -> bytes:
    r"""Write a text with \u escapes; ASCII only by half, or the body is too large."""
    if not text.isascii():
        return compact(draft(text), escaped=True)
    half = len(text) // 2
    written = b"".join(rb"\u%04x" % ord(letter) for letter in text[: half - 400])
    return compact(draft("CONTENT")).replace(
        b"CONTENT", written + text[half - 400 :].encode()
    )


@pytest.mark.parametrize("name", AT_THE_LIMIT)
def test_the_examples_at_the_limit_have_8192_bytes(name: str) -> None:
    assert len(AT_THE_LIMIT[name].encode()) == 8192
    assert len(ONE_BYTE_OVER[name].encode()) == 8193


@each("text", AT_THE_LIMIT)
def test_a_text_of_8192_bytes_is_returned(api: Api, text: str) -> None:
    assert_echo(api.chat(draft(text)), text)
    assert_echo(api.chat_in_chunks(draft(text)), text)


@each("text", AT_THE_LIMIT)
def test_an_escaped_text_of_8192_bytes_is_returned(api: Api, text: str) -> None:
    body = in_escapes(text)
    assert len(body) <= 32768
    assert_echo(api.chat(body), text)


@each("text", ONE_BYTE_OVER)
def test_a_text_of_8193_bytes_is_refused(api: Api, text: str) -> None:
    detail = assert_refused(api.chat(draft(text)), "content_too_large")
    assert "8192" in detail and "8193" in detail
    assert_refused(api.chat_in_chunks(draft(text)), "content_too_large")


@each("text", ONE_BYTE_OVER)
def test_an_escaped_text_of_8193_bytes_is_refused(api: Api, text: str) -> None:
    body = in_escapes(text)
    assert len(body) <= 32768
    assert_refused(api.chat(body), "content_too_large")


def test_an_escaped_character_counts_as_one_byte(api: Api) -> None:
    text = "\x00" * 5000
    assert_echo(api.chat(draft(text)), text)


def test_a_body_of_32768_bytes_is_accepted(api: Api) -> None:
    assert_echo(api.chat(padded(32768)), "zyzzyva-47")
    assert_echo(api.chat_in_chunks(padded(32768)), "zyzzyva-47")
    assert_echo(api.chat_in_chunks(padded(32768), size=32768), "zyzzyva-47")


def test_a_body_may_arrive_in_chunks_of_one_byte(api: Api) -> None:
    assert_echo(api.chat_in_chunks(padded(500), size=1), "zyzzyva-47")


def test_a_body_of_32769_bytes_is_refused(api: Api) -> None:
    detail = assert_refused(api.chat(padded(32769)), "request_too_large")
    assert "32768" in detail
    assert_refused(api.chat_in_chunks(padded(32769)), "request_too_large")
    assert_refused(api.chat_in_chunks(padded(32769), size=32769), "request_too_large")


@pytest.mark.parametrize("length", [32769, 1_000_000, 10**12])
def test_a_declared_length_is_refused_before_the_body_arrives(
    api: Api, length: int
) -> None:
    media = ("Content-Type", "application/json")
    fields = [*api.usual_fields, media, ("Content-Length", str(length))]
    head_alone = request("POST", CHAT, fields)
    assert_refused(api.send(head_alone), "request_too_large")


def test_a_length_beyond_64_bits_is_refused(api: Api) -> None:
    media = ("Content-Type", "application/json")
    fields = [*api.usual_fields, media, ("Content-Length", str(2**64 + 2))]
    answer = api.send(request("POST", CHAT, fields, b"{}"))
    code = "request_too_large" if answer.status == 413 else "malformed_request"
    assert_refused(answer, code)


def test_chunks_are_counted_before_the_last_one_arrives(api: Api) -> None:
    coding = ("Transfer-Encoding", "chunked")
    fields = [*api.usual_fields, ("Content-Type", "application/json"), coding]
    unended = chunked(padded(32769)).removesuffix(b"0\r\n\r\n")
    answer = api.send(request("POST", CHAT, fields, unended))
    assert_refused(answer, "request_too_large")


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_body_too_large_is_refused_before_its_wrong_type(
    api: Api, media: str
) -> None:
    fields, body = [*api.usual_fields, ("Content-Type", media)], padded(32769)
    assert_refused(api.ask("POST", CHAT, fields, body), "request_too_large")
    in_chunks = [*fields, ("Transfer-Encoding", "chunked")]
    raw = request("POST", CHAT, in_chunks, chunked(body))
    assert_refused(api.send(raw), "request_too_large")


def test_a_body_too_large_is_refused_before_its_bad_json(api: Api) -> None:
    assert_refused(api.chat(b"[" * 32769), "request_too_large")


def test_a_body_too_large_is_refused_before_its_text_too_large(api: Api) -> None:
    assert_refused(api.chat(draft("x" * 32768)), "request_too_large")
