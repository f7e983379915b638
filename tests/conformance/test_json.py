"""Bodies that are not a JSON object in UTF-8 (RFC 8259)."""

import pytest

from tests.support.api import Api, assert_refused, compact, draft
from tests.support.tables import each, words

GOOD = compact(draft())
# The body before and after the text, so that a test can choose the text's bytes.
BEFORE, AFTER = compact(draft("|")).split(b"|")

NOT_JSON = {
    "nothing": b"",
    "white space alone": b" \t\r\n",
    "a word": b"hello",
    "two documents": GOOD + GOOD,
    "something after it": GOOD + b"x",
    "a comma after it": GOOD + b",",
    "cut off in the text": GOOD[: GOOD.index(b"zyz") + 2],
    "an extra brace": GOOD + b"}",
    "a trailing comma": GOOD[:-1] + b",}",
    "a missing comma": GOOD.replace(b",", b" ", 1),
    "single quotes": GOOD.replace(b'"', b"'"),
    "names without quotes": GOOD.replace(b'"model"', b"model"),
    "a line comment": b"// hello\n" + GOOD,
    "a no-break space as white space": "\u00a0".encode() + GOOD,
    "Python's None": GOOD.replace(b'"zyzzyva-47"', b"None"),
    "a word that begins like null": GOOD.replace(b'"zyzzyva-47"', b"nul"),
    "a prefix against hijacking": b")]}',\n" + GOOD,
}

NOT_AN_OBJECT = {
    "an array": b"[" + GOOD + b"]",
    "a number": b"2000",
    "a huge number": b"9" * 5000,
    "null": b"null",
}

NOT_UTF_8 = {
    "a UTF-8 byte order mark": b"\xef\xbb\xbf" + GOOD,
    "UTF-16 with a mark": GOOD.decode().encode("utf-16"),
    "UTF-16, little-endian": GOOD.decode().encode("utf-16-le"),
    "gzip": bytes.fromhex("1f8b0800000000000003abae050043bfa6a302000000"),
}

BAD_TEXTS = {
    "a continuation byte alone": b"\x80",
    "a cut letter": b"\xd0",
    "latin-1": b"caf\xe9",
    "an overlong slash": b"\xc0\xaf",
    "an overlong NUL": b"\xc0\x80",
    "a surrogate in UTF-8": b"\xed\xa0\x80",
    "beyond the last code point": b"\xf4\x90\x80\x80",
    "0xff": b"\xff",
    "a raw NUL": b"\x00",
    "a raw line feed": b"\n",
    "the last raw control": b"\x1f",
    "an escaped high surrogate": rb"\ud800",
    "an escaped low surrogate": rb"\udc00",
    "a high surrogate and a letter": rb"\ud83dx",
    "a high surrogate and an escaped letter": rb"\ud83d\u0041",
    "two high surrogates": rb"\ud83d\ud83d",
    "a pair and a high surrogate": rb"\ud83d\ude00\ud83d",
    "a raw low after an escaped high surrogate": rb"\ud83d" + b"\xed\xb8\x80",
    "an unknown escape": rb"\x41",
    "a capital U": rb"\U0001f600",
    "three hex digits": rb"\u041",
    "a sign among hex digits": rb"\u+041",
    "a backslash at the end": b"\\",
    "a quote": b'"',
}

BAD_NUMBERS = words("NaN -Infinity 1. .5 +1 01 0x7d0 1e 1.e3 1_000 - --1 2000n ٢")

# Objects that contain a name twice.
REPETITIONS = {
    "model, both right": GOOD.replace(b"{", GOOD.split(b",")[0] + b",", 1),
    "messages": GOOD.replace(b"{", b'{"messages":[],', 1),
    "max_tokens": GOOD[:-1] + b',"max_tokens":2000,"max_tokens":2000}',
    "content": GOOD.replace(b'"content"', b'"content":"x","content"'),
    "content, last": GOOD.replace(b"}]", b',"content":"x"}]'),
    "an unknown field": GOOD[:-1] + b',"n":1,"n":1}',
    "a name in escapes": GOOD.replace(b"{", rb'{"mod\u0065l":"x",', 1),
    # A parser that counts colons to find duplicate names would miscount these.
    "a colon in the text": GOOD.replace(b'"content"', b'"content":"x:","content"'),
    "an escaped colon in capitals": GOOD.replace(
        b'"zyzzyva-47"', rb'"x","content":"\u003A"'
    ),
    "a deeply nested name": GOOD[:-1] + b',"tools":[{"a":{"b":1,"b":2}}]}',
}


DEEP_NESTING = {
    "arrays that never end": b"[" * 10_000,
    "arrays of arrays": b"[" * 10_000 + b"]" * 10_000,
    "objects that never end": b'{"a":' * 5_000,
    "arrays in the text's place": GOOD.replace(b'"zyzzyva-47"', b"[" * 10_000),
    "as many brackets as fit": b"[" * 32_768,
}


@each("body", NOT_JSON | NOT_AN_OBJECT | NOT_UTF_8 | REPETITIONS | DEEP_NESTING)
def test_a_body_that_is_not_an_object_of_json_is_refused(api: Api, body: bytes) -> None:
    assert_refused(api.chat(body), "invalid_json")


@each("text", BAD_TEXTS)
def test_an_invalid_string_is_refused_as_text_value_and_name(
    api: Api, text: bytes
) -> None:
    for body in (
        BEFORE + text + AFTER,
        GOOD[:-1] + b',"zebra":{"a":["' + text + b'"]}}',
        GOOD[:-1] + b',"' + text + b'":1}',
    ):
        assert_refused(api.chat(body), "invalid_json")


@pytest.mark.parametrize("number", BAD_NUMBERS)
def test_an_invalid_number_is_refused(api: Api, number: str) -> None:
    body = GOOD[:-1] + b',"max_tokens":' + number.encode() + b"}"
    assert_refused(api.chat(body), "invalid_json")
    unread = GOOD[:-1] + b',"zebra":' + number.encode() + b"}"
    assert_refused(api.chat(unread), "invalid_json")


@pytest.mark.parametrize("depth", [100, 1_000, 10_000])
def test_valid_deep_nesting_is_refused_as_unknown_or_invalid(
    api: Api, depth: int
) -> None:
    # RFC 8259 §9 lets a parser limit the depth, so both codes are right.
    body = GOOD[:-1] + b',"zebra":' + b"[" * depth + b"]" * depth + b"}"
    answer = api.chat(body)
    code = "unknown_field" if b"unknown" in answer.body else "invalid_json"
    assert_refused(answer, code)
