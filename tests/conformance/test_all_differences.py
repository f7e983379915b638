"""One refusal names every difference of a request, and nothing of its text."""

import json

import pytest

from tests.support.api import CHAT, MARKER, Api, assert_refused, compact, draft
from tests.support.wire import request

SYSTEM = {"role": "system", "content": MARKER}
USER = {"role": "user", "content": MARKER}

# What the buttons and chats of real programs send, and what the answer must name.
REQUESTS = {
    "a token limit": ({"max_tokens": 16}, ["max_tokens", "2000"]),
    "streaming": (
        {"stream": True, "stream_options": {"include_usage": True}},
        ["stream must be false", "stream_options"],
    ),
    "a chat with a system prompt": (
        {"messages": [SYSTEM, USER], "stream": True, "temperature": 0.7, "top_p": 1},
        ["system prompt", "stream must be false", "temperature", "top_p"],
    ),
    "an agent": (
        {
            "model": "gpt-4o",
            "messages": [
                SYSTEM,
                {"role": "user", "content": [{"type": "text", "text": MARKER}]},
            ],
            "tools": [],
            "tool_choice": "auto",
            "stream": True,
            "stop": ["x"],
            "seed": 1,
            "presence_penalty": 0,
            "max_tokens": 4096,
        },
        [
            "tools",
            "tool_choice",
            "stop",
            "seed",
            "presence_penalty",
            "model must be",
            "system prompt",
            "messages[1].content must be a string",
            "stream must be false",
            "max_tokens must be",
        ],
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_one_answer_names_every_difference(api: Api, name: str) -> None:
    members, expected = REQUESTS[name]
    answer = api.chat(draft(**members))
    code = "unknown_field" if name != "a token limit" else "invalid_max_tokens"
    detail = assert_refused(answer, code)
    assert [words for words in expected if words not in detail] == []


def test_a_wrong_media_type_does_not_hide_the_other_differences(api: Api) -> None:
    body = compact(draft(stream=True))
    fields = [*api.usual_fields, ("Content-Type", "text/plain")]
    length = ("Content-Length", str(len(body)))
    answer = api.send(request("POST", CHAT, [*fields, length], body))
    detail = assert_refused(answer, "unsupported_media_type")
    assert "application/json" in detail and "stream must be false" in detail


def test_a_repeated_refusal_says_the_same(api: Api) -> None:
    body = draft(stream=True, temperature=1)
    with api.endpoint.connect() as connection:
        details = set()
        for _ in range(5):
            connection.send(api.chat_bytes(body))
            details.add(assert_refused(connection.read_answer(), "unknown_field"))
    assert len(details) == 1


# Explanations in the body, for clients that show nothing else


def explained(api: Api, body: object, preference: str) -> bytes:
    return api.chat(body, extra=[("Prefer", preference)]).body


def test_prefer_explain_puts_the_detail_into_the_body(api: Api) -> None:
    answer = api.chat(draft(stream=True), extra=[("Prefer", "explain")])
    detail = answer.header("X-Error-Detail")
    code = "stream_unavailable"
    assert json.loads(answer.body) == {"error": {"code": code, "message": detail}}


@pytest.mark.parametrize(
    "preference",
    ["EXPLAIN", "respond-async, explain", "explain; foo=bar", "explain, explain=2"]
    + ['x="a, b", explain', 'explain=""', "explain = ; a=b", 'x="\\"", explain'],
)
def test_a_preference_may_have_any_form_of_the_standard(
    api: Api, preference: str
) -> None:
    assert b'"message":"' in explained(api, draft(stream=True), preference)


@pytest.mark.parametrize(
    "preference",
    ["explained", "noexplain", "x=explain", "", "explain=2, explain", 'explain="x"']
    + ["x; explain", "ex plain", '"explain"', 'x="a, explain, b"']
    + ['x="a\\", explain, b"', 'x="not ended, explain'],
)
def test_another_preference_changes_nothing(api: Api, preference: str) -> None:
    body = explained(api, draft(stream=True), preference)
    assert body == b'{"error":{"code":"stream_unavailable"}}'


def test_prefer_explain_works_without_an_accepted_key(api: Api) -> None:
    preference = ("Prefer", "explain")
    unauthorized = api.ask("GET", "/v1/models", [api.host, preference])
    not_found = api.ask("GET", "/models", [*api.usual_fields, preference])
    assert unauthorized.body.startswith(b'{"error":{"code":"invalid_key","message":"')
    assert not_found.body.startswith(b'{"error":{"code":"not_found","message":"')


def test_prefer_explain_changes_no_accepted_answer(api: Api) -> None:
    answer = api.chat(draft(), extra=[("Prefer", "explain")])
    assert answer.status == 200 and b"message" in answer.body
    assert answer.header("X-Error-Detail") is None


def test_a_preference_of_many_quotes_is_read_in_time(api: Api) -> None:
    # Read again from each quote, this would be a hundred million steps.
    answer = api.chat(draft(stream=True), extra=[("Prefer", '"\\' * 7000)])
    assert answer.status == 400 and b"message" not in answer.body
