"""The limits of a text and of a body.

The text is counted after its JSON escapes are decoded, and the body as it is received,
whether with a declared length or in chunks. The limits of a head are in tests/wire.
"""

from tests.support.api import (
    CHAT,
    MODELS,
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
ONE_BYTE_OVER = {name: f"{text}x" for name, text in AT_THE_LIMIT.items()} | {
    "three-byte letters alone": "€" * 2731,
}


def padded(size: int) -> bytes:
    """Return a valid request, padded to this size with JSON white space."""
    body = compact(draft())
    return body + b" " * (size - len(body))


def in_escapes(text: str) -> bytes:
    r"""Escape a text with \u, but only half of an ASCII text, so that the body fits."""
    if not text.isascii():
        return compact(draft(text), escaped=True)
    half = len(text) // 2
    written = b"".join(rb"\u%04x" % ord(letter) for letter in text[: half - 400])
    return compact(draft("CONTENT")).replace(
        b"CONTENT", written + text[half - 400 :].encode()
    )


@each("text", AT_THE_LIMIT)
def test_a_text_of_8192_bytes_is_returned(api: Api, text: str) -> None:
    assert len(text.encode()) == 8192
    assert_echo(api.chat(draft(text)), text)
    assert_echo(api.chat_in_chunks(draft(text)), text)
    assert_echo(api.chat(in_escapes(text)), text)


@each("text", ONE_BYTE_OVER)
def test_a_text_of_8193_bytes_is_refused(api: Api, text: str) -> None:
    detail = assert_refused(api.chat(draft(text)), "content_too_large")
    assert "8192" in detail and "8193" in detail
    assert_refused(api.chat_in_chunks(draft(text)), "content_too_large")
    assert_refused(api.chat(in_escapes(text)), "content_too_large")


def test_a_body_of_32768_bytes_is_accepted(api: Api) -> None:
    assert_echo(api.chat(padded(32768)), "zyzzyva-47")
    assert_echo(api.chat_in_chunks(padded(32768)), "zyzzyva-47")
    assert_echo(api.chat_in_chunks(padded(32768), size=32768), "zyzzyva-47")


def test_a_body_of_32769_bytes_is_refused(api: Api) -> None:
    detail = assert_refused(api.chat(padded(32769)), "request_too_large")
    assert "32768" in detail
    assert_refused(api.chat_in_chunks(padded(32769)), "request_too_large")
    assert_refused(api.chat_in_chunks(padded(32769), size=32769), "request_too_large")


def test_a_request_without_a_text_is_not_told_to_shorten_it(api: Api) -> None:
    length = ("Content-Length", "40000")
    answer = api.send(request("GET", MODELS, [*api.usual_fields, length], b" " * 40000))
    detail = assert_refused(answer, "request_too_large")
    assert detail.endswith("Send the request without a body.")


def test_chunks_are_counted_before_the_last_one_arrives(api: Api) -> None:
    coding = ("Transfer-Encoding", "chunked")
    fields = [*api.usual_fields, ("Content-Type", "application/json"), coding]
    unended = chunked(padded(32769)).removesuffix(b"0\r\n\r\n")
    for chunks in (unended, b"FFFFFFF\r\n"):
        answer = api.send(request("POST", CHAT, fields, chunks))
        assert_refused(answer, "request_too_large")
