"""Bodies that are not a JSON object in UTF-8 (RFC 8259)."""

import pytest

from tests.support.api import Api, assert_refused, compact, draft
from tests.support.tables import each, words

GOOD = compact(draft())
# The same request around a text of which a test chooses every byte.
BEFORE, AFTER = compact(draft("|")).split(b"|")

NOT_JSON = {
    "nothing": b"",
    "a space": b" ",
    "white space alone": b" \t\r\n",
    "a word": b"hello",
    "a form": b"model=vendor-cabinet-preview-echo&messages=hello",
    "two documents": GOOD + GOOD,
    "two documents on two lines": GOOD + b"\n" + GOOD,
    "something after it": GOOD + b"x",
    "a NUL after it": GOOD + b"\x00",
    "a comma after it": GOOD + b",",
    "cut off": GOOD[:-1],
    "cut off in the text": GOOD[: GOOD.index(b"zyz") + 2],
    "an extra brace": GOOD + b"}",
    "a trailing comma": GOOD[:-1] + b",}",
    "a trailing comma in the array": GOOD.replace(b"}]", b"},]"),
    "two commas": GOOD.replace(b",", b",,", 1),
    "a missing comma": GOOD.replace(b",", b" ", 1),
    "a missing colon": GOOD.replace(b":", b" ", 1),
    "single quotes": GOOD.replace(b'"', b"'"),
    "names without quotes": GOOD.replace(b'"model"', b"model"),
    "a line comment": b"// hello\n" + GOOD,
    "a block comment": GOOD.replace(b":", b":/**/", 1),
    "a hash comment": GOOD + b" # hello",
    "a form feed as white space": b"\x0c" + GOOD,
    "a no-break space as white space": "\u00a0".encode() + GOOD,
    "Python's None": GOOD.replace(b'"zyzzyva-47"', b"None"),
    "Python's True": GOOD.replace(b'"zyzzyva-47"', b"True"),
    "undefined": GOOD.replace(b'"zyzzyva-47"', b"undefined"),
    "a word that begins like null": GOOD.replace(b'"zyzzyva-47"', b"nul"),
    "a JSON text sequence": b"\x1e" + GOOD + b"\n",
    "a prefix against hijacking": b")]}',\n" + GOOD,
}

NOT_AN_OBJECT = {
    "an array": b"[" + GOOD + b"]",
    "an empty array": b"[]",
    "a string": b'"zyzzyva-47"',
    "a number": b"2000",
    "a huge number": b"9" * 5000,
    "true": b"true",
    "false": b"false",
    "null": b"null",
}

NOT_UTF_8 = {
    "a UTF-8 byte order mark": b"\xef\xbb\xbf" + GOOD,
    "UTF-16 with a mark": GOOD.decode().encode("utf-16"),
    "UTF-16, little-endian": GOOD.decode().encode("utf-16-le"),
    "UTF-16, big-endian": GOOD.decode().encode("utf-16-be"),
    "UTF-32": GOOD.decode().encode("utf-32"),
    "gzip": bytes.fromhex("1f8b0800000000000003abae050043bfa6a302000000"),
}

BAD_TEXTS = {
    "a continuation byte alone": b"\x80",
    "a cut letter": b"\xd0",
    "a cut emoji": b"\xf0\x9f\x98",
    "latin-1": b"caf\xe9",
    "windows-1251": "привет".encode("cp1251"),
    "an overlong slash": b"\xc0\xaf",
    "an overlong NUL": b"\xc0\x80",
    "an overlong letter of three bytes": b"\xe0\x80\x80",
    "a surrogate in UTF-8": b"\xed\xa0\x80",
    "a surrogate pair in UTF-8": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond the last code point": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "0xff": b"\xff",
    "0xfe": b"\xfe",
    "a raw NUL": b"\x00",
    "a raw tab": b"\t",
    "a raw line feed": b"\n",
    "a raw carriage return": b"\r",
    "a raw escape": b"\x1b",
    "the last raw control": b"\x1f",
    "an escaped high surrogate": rb"\ud800",
    "an escaped low surrogate": rb"\udc00",
    "a high surrogate at the end": rb"text \udbff",
    "a high surrogate and a letter": rb"\ud83dx",
    "a high surrogate and an escaped letter": rb"\ud83d\u0041",
    "a high surrogate and another escape": rb"\ud83d\n",
    "two high surrogates": rb"\ud83d\ud83d",
    "a low before a high surrogate": rb"\ude00\ud83d",
    "a pair and a high surrogate": rb"\ud83d\ude00\ud83d",
    "a raw low after an escaped high surrogate": rb"\ud83d" + b"\xed\xb8\x80",
    "an unknown escape": rb"\x41",
    "an escaped apostrophe": rb"\'",
    "an escaped NUL in octal": rb"\0",
    "a capital U": rb"\U0001f600",
    "three hex digits": rb"\u041",
    "a letter that is not a hex digit": rb"\u00g0",
    "a sign among hex digits": rb"\u+041",
    "braces": rb"\u{1f600}",
    "a backslash at the end": b"\\",
    "a quote": b'"',
}

BAD_NUMBERS = words("""
    NaN Infinity -Infinity nan inf 1. .5 +1 01 -01 02000 0x7d0 1e 1e+ 1.e3 1_000 - --1
    2000n 2,000 1e1.5 ٢
""")

# Names that an object contains twice.
REPETITIONS = {
    "model": GOOD.replace(b"{", b'{"model":"x",', 1),
    "model, both right": GOOD.replace(b"{", GOOD.split(b",")[0] + b",", 1),
    "messages": GOOD.replace(b"{", b'{"messages":[],', 1),
    "stream": GOOD[:-1] + b',"stream":false,"stream":false}',
    "max_tokens": GOOD[:-1] + b',"max_tokens":2000,"max_tokens":2000}',
    "role": GOOD.replace(b'"role"', b'"role":"user","role"'),
    "content": GOOD.replace(b'"content"', b'"content":"x","content"'),
    "content, last": GOOD.replace(b"}]", b',"content":"x"}]'),
    "an unknown field": GOOD[:-1] + b',"n":1,"n":1}',
    "a name in escapes": GOOD.replace(b"{", rb'{"mod\u0065l":"x",', 1),
    # A reader that counts colons to find repetitions miscounts these.
    "a colon in the text": GOOD.replace(b'"content"', b'"content":"x:","content"'),
    "an escaped colon in the text": GOOD.replace(
        b'"zyzzyva-47"', rb'"x","content":"\u003a"'
    ),
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
    "arrays in an unknown field": GOOD[:-1] + b',"x":' + b"[" * 10_000,
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
    # RFC 8259 §9 lets a reader limit the depth, so both codes are right.
    body = GOOD[:-1] + b',"zebra":' + b"[" * depth + b"]" * depth + b"}"
    answer = api.chat(body)
    code = "unknown_field" if b"unknown" in answer.body else "invalid_json"
    assert_refused(answer, code)
