"""A valid request is answered with its text, unchanged, or with the list of models.

Sizes at the limits are in test_limits.py.
"""

import json
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.api import (
    MODEL,
    MODELS,
    Api,
    assert_echo,
    assert_success,
    compact,
    draft,
)
from tests.support.tables import each

TEXTS = {
    "one letter": "a",
    "cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "emoji of several code points": "👩‍👩‍👧‍👦 🏳️‍🌈 🇷🇺 👍🏽",
    "composed marks": "é й ậ",
    "compatibility forms": "ﬁ ① ﬀ Å K",
    "chinese beyond the basic plane": "漢字 𠀀𪛖",
    "NUL inside": "a\x00b",
    "every control character": "".join(map(chr, range(0x20))),
    "DEL and C1 controls": "".join(map(chr, range(0x7F, 0xA0))),
    "byte order mark first": "\ufefftext",
    "CR alone": "one\rtwo",
    "spaces around": "  text  ",
    "white space alone": " \t\r\n",
    "unicode white space alone": "\u00a0\u2003\u3000\u200b",
    "line separators": "a\u2028b\u2029c\u0085d",
    "noncharacters": "\ufffe\uffff\ufdd0\U0001fffe\U0010ffff",
    "quotes and backslashes": '"\'`\\ \\" \\n \\u0041 \\\\',
    "JSON inside": '{"model":"x","messages":[]}',
}


@each("text", TEXTS)
def test_the_text_is_returned_unchanged(api: Api, text: str) -> None:
    assert_echo(api.chat(compact(draft(text))), text)
    assert_echo(api.chat(compact(draft(text), escaped=True)), text)


any_character = st.characters(exclude_categories=["Cs"])
odd_characters = st.sampled_from('\0\x1f"\\/\x7f\x85\u2028\u2029\ufeff\uffff🏠é:')


def shortened(text: str) -> str:
    """Cut a text at a character boundary, so that it and its body fit the limits."""
    text = text.encode()[:8192].decode(errors="ignore")
    while len(compact(draft(text))) > 32_768:
        text = text[: len(text) * 3 // 4]
    return text


@settings(max_examples=100)
@given(
    text=st.one_of(
        st.text(any_character, min_size=1, max_size=300),
        st.text(odd_characters, min_size=1, max_size=100),
        st.builds(
            lambda text, times: shortened(text * times),
            st.text(any_character, min_size=1, max_size=20),
            st.integers(400, 3000),
        ),
    ),
    escaped=st.booleans(),
    chunk=st.sampled_from([0, 100, 4096]),
)
def test_any_text_is_returned_unchanged(
    api: Api, text: str, escaped: bool, chunk: int
) -> None:
    body = compact(draft(text), escaped=escaped)
    if len(body) > 32_768:
        body = compact(draft(text))
    answer = api.chat_in_chunks(body, size=chunk) if chunk else api.chat(body)
    assert_echo(answer, text)


@each(
    "written, text",
    {
        "short escapes": (rb"\"\\\/\b\f\n\r\t", '"\\/\b\f\n\r\t'),
        "hex digits in both cases": (rb"\u00e9\u00E9\uABcd", "éé\uabcd"),
        "an escaped byte order mark": (rb"\ufeff", "\ufeff"),
        "a surrogate pair": (rb"\ud83d\ude00", "😀"),
        "the highest code point": (rb"\udbff\udfff", "\U0010ffff"),
        "raw and escaped side by side": ("д\\u0434".encode(), "дд"),
        "an escaped backslash before u": (rb"\\ud800", "\\ud800"),
    },
)
def test_an_escape_means_the_character(api: Api, written: bytes, text: str) -> None:
    body = compact(draft("CONTENT")).replace(b"CONTENT", written)
    assert_echo(api.chat(body), text)


@each(
    "body",
    {
        "explicit defaults": draft("x", stream=False, max_tokens=2000),
        "another order": {
            "max_tokens": 2000,
            "messages": [{"content": "x", "role": "user"}],
            "stream": False,
            "model": MODEL,
        },
    },
)
def test_the_optional_fields_and_any_order_are_accepted(
    api: Api, body: dict[str, object]
) -> None:
    assert_echo(api.chat(body), "x")


def test_white_space_between_the_parts_of_the_json_does_not_matter(api: Api) -> None:
    spaced = json.dumps(draft("x"), indent="\t", separators=(" ,\r", " : "))
    assert_echo(api.chat(f"\r\n\t {spaced} \r\n\t".encode()), "x")


def test_a_name_written_in_escapes_is_the_same_name(api: Api) -> None:
    body = compact(draft("x")).replace(b'"role"', rb'"\u0072ole"')
    assert_echo(api.chat(body.replace(b'"model"', rb'"mod\u0065l"')), "x")


def test_every_answer_has_its_own_id(api: Api) -> None:
    ids = {assert_echo(api.chat(draft("x")), "x")["id"] for _ in range(50)}
    assert len(ids) == 50


def test_created_changes_on_every_answer_to_one_key(api: Api, unused_key: str) -> None:
    fresh, before = api.with_key(unused_key), int(time.time())
    created = [fresh.chat(draft("x")) for _ in range(30)]
    seconds = [assert_success(answer)["created"] for answer in created]
    assert before <= seconds[0] <= int(time.time())
    assert all(
        earlier < later for earlier, later in zip(seconds, seconds[1:], strict=False)
    )
    assert seconds[-1] <= int(time.time()) + 3600


def test_an_accepted_request_has_no_rate_headers(api: Api) -> None:
    names = {name.lower() for name, _ in api.chat(draft("x")).headers}
    assert not {name for name in names if "ratelimit" in name or "retry" in name}


THE_LIST = {
    "object": "list",
    "data": [
        {"id": "vendor-cabinet-preview-echo", "object": "model", "owned_by": "vendor"}
    ],
}


def test_the_list_is_the_one_model_and_nothing_else(api: Api) -> None:
    assert assert_success(api.models()) == THE_LIST


@each(
    "field",
    {
        "an empty body": ("Content-Length", "0"),
        "an Accept header": ("Accept", "text/html"),
        "a content type without a body": ("Content-Type", "text/plain"),
        "a cookie": ("Cookie", "a=b"),
        "a proxy's address": ("X-Forwarded-For", "192.0.2.1"),
        "a condition": ("If-None-Match", "*"),
        "a range": ("Range", "bytes=0-3"),
        "another compression": ("Accept-Encoding", "gzip, br, zstd"),
    },
)
def test_irrelevant_fields_are_ignored(api: Api, field: tuple[str, str]) -> None:
    assert (
        assert_success(api.ask("GET", MODELS, [*api.usual_fields, field])) == THE_LIST
    )


def test_field_names_are_case_insensitive(api: Api) -> None:
    fields = [("hOsT", api.host[1]), ("AUTHORIZATION", api.bearer[1])]
    assert assert_success(api.ask("GET", MODELS, fields)) == THE_LIST
