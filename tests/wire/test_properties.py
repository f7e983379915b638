"""Properties of any splits and any bytes, checked with Hypothesis."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.api import CHAT, MODELS, Api, assert_refused, compact, draft
from tests.support.raw_requests import ask
from tests.support.wire import Answer, chunked, request

# Parts of a stream; each returns the bytes of one request.
Part = Callable[[Api], bytes]
PARTS: list[Part] = [
    lambda api: api.chat_bytes(draft("one")),
    lambda api: api.chat_bytes(draft("два")),
    lambda api: api.chat_bytes(draft("same length")),
    lambda api: api.chat_bytes(draft("SAME LENGTH")),
    lambda api: api.chat_bytes(draft("x", stream=True)),
    lambda api: api.chat_bytes(b"{"),
    lambda api: api.chat_bytes(draft("x"), extra=[("Expect", "100-continue")]),
    lambda api: api.chat_bytes(draft("x"), extra=UPGRADE),
    lambda api: request("GET", MODELS, api.usual_fields),
    lambda api: request("GET", MODELS, [api.host]),
    lambda api: request("GET", "/nowhere", api.usual_fields),
    lambda api: request("BREW", MODELS, api.usual_fields),
    lambda api: request("POST", "/nowhere", [api.host, LENGTH], b"\r\n\r\n\r\n"),
    lambda api: request("POST", CHAT, [api.host, LENGTH], b"123456"),
    lambda api: request(
        "POST",
        CHAT,
        [*api.usual_fields, JSON, CODING],
        chunked(compact(draft("chunks")), 9),
    ),
    lambda api: request(
        "POST", CHAT, [*api.usual_fields, JSON, CODING], b"2\r\n{}\r\n0\r\n"
    ),
    lambda api: request(
        "POST",
        CHAT,
        [*api.usual_fields, JSON, CODING],
        b'2 ; a = "b"\r\n{}\r\n0 ;c\r\nX: y\r\n\r\n',
    ),
    lambda api: request("GET", MODELS, api.usual_fields).replace(b"1.1", b"1.5", 1),
    lambda api: request("CONNECT", "x:443", [*api.usual_fields, *UPGRADE]),
    lambda api: b"\r\n",
    lambda api: request("GET", MODELS, [*api.usual_fields, ("Connection", "close")]),
    lambda api: request("POST", CHAT, [*api.usual_fields, ("Content-Length", "99999")]),
    lambda api: request("POST", CHAT, [*api.usual_fields, LENGTH, CODING]),
    lambda api: request("GET", MODELS, [*api.usual_fields, ("X", "y" * 17_000)]),
    lambda api: b"garbage\r\n\r\n",
    lambda api: b"GET / HTTP/1.1\r\nX: \x01\r\nY: \n\r\n\r\n",
    lambda api: b"GET / HTTP/1.1\nHost: x\n\n",
]
JSON = ("Content-Type", "application/json")
LENGTH = ("Content-Length", "6")
CODING = ("Transfer-Encoding", "chunked")
UPGRADE = [("Connection", "Upgrade"), ("Upgrade", "h2c")]


def essence(answers: list[Answer]) -> list[object]:
    """Return what must not depend on the splits: no ids, no dates, no interim 100."""
    return [
        (a.status, a.header("Connection"), a.header("X-Error-Detail"), text_of(a))
        for a in answers
        if a.status != 100
    ]


def text_of(answer: Answer) -> object:
    body = json.loads(answer.body)
    if "choices" not in body:
        return body
    return body["choices"][0]["message"]["content"]


def cut(raw: bytes, places: list[float]) -> list[bytes]:
    marks = sorted({0, len(raw), *(int(place * len(raw)) for place in places)})
    return [raw[a:b] for a, b in zip(marks, marks[1:], strict=False)]


@settings(max_examples=100)
@given(
    parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=8),
    places=st.lists(st.floats(0, 1), max_size=12),
)
def test_any_pipeline_split_anywhere_gets_the_same_answers(
    api: Api, parts: list[Part], places: list[float]
) -> None:
    raw = b"".join(part(api) for part in parts)
    whole = essence(ask(api.endpoint, raw))
    assert essence(ask(api.endpoint, *cut(raw, places))) == whole


@settings(max_examples=100)
@given(raw=st.binary(min_size=1, max_size=400))
def test_any_bytes_get_a_refusal_or_no_answer(api: Api, raw: bytes) -> None:
    assert_sane(ask(api.endpoint, raw))


@settings(max_examples=150)
@given(
    parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
    place=st.floats(0, 1),
    change=st.one_of(st.binary(max_size=8), st.sampled_from([b"\r\n", b"\0", b"0"])),
    removed=st.integers(0, 30),
)
def test_a_request_changed_anywhere_gets_a_sane_answer_or_none(
    api: Api, parts: list[Part], place: float, change: bytes, removed: int
) -> None:
    raw = b"".join(part(api) for part in parts)
    at = int(place * len(raw))
    changed = raw[:at] + change + raw[at + removed :]
    assert_sane(ask(api.endpoint, changed))


field_values = st.one_of(
    st.text(st.characters(max_codepoint=255), max_size=60),
    st.sampled_from(["Bearer ", "Basic ", "Bearer $KEY", "Bearer '", "sk-proj-", "<"]),
).map(lambda text: re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", "", text))


@settings(max_examples=75)
@given(
    method=st.sampled_from(["GET", "POST", "OPTIONS", "BREW"]),
    path=st.from_regex(r"/[!-\"$-~]{0,40}", fullmatch=True),
    values=st.dictionaries(
        st.sampled_from(["Authorization", "Cookie", "X-Api-Key", "Api-Key", "Origin"]),
        field_values,
    ),
)
def test_any_path_and_credentials_are_explained_without_repeating_them(
    api: Api, method: str, path: str, values: dict[str, str]
) -> None:
    secret = "Zq9Zq8Zq7Zq6Zq5"
    fields = [(name, value + secret) for name, value in values.items()]
    answer = api.ask(method, path + secret, [api.host, *fields])
    sentences = [assert_refused(answer, "not_found")]
    answer = api.ask("GET", MODELS, [api.host, *fields])
    sentences.append(assert_refused(answer, "invalid_key"))
    for sentence in sentences:
        assert len(sentence) <= 400
        assert secret not in sentence


@settings(max_examples=100)
@given(raw=st.binary(max_size=200))
def test_a_complete_request_before_any_bytes_is_answered(api: Api, raw: bytes) -> None:
    first, *rest = ask(api.endpoint, api.chat_bytes(draft("first")) + raw)
    assert text_of(first) == "first"
    assert_sane(rest)


def assert_sane(answers: list[Answer]) -> None:
    """Check that no answer is an internal error and that only the last one closes."""
    final = [answer for answer in answers if answer.status >= 200]
    assert all(answer.status < 500 or answer.status == 501 for answer in final)
    closing = [answer.header("Connection") == "close" for answer in final]
    assert not any(closing[:-1])
    if any(answer.status in (414, 431, 501) for answer in final):
        assert closing[-1]


pytestmark = pytest.mark.timeout(180)
