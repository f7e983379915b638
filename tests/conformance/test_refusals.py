"""The form of a refusal, which is the same for every code and every cause.

Every file checks its own refusals with `assert_refused`; this one compares all codes.
Every difference in a body is tested in tests/unit/api/endpoints/test_refusal.py.
"""

import json
from collections.abc import Callable

import pytest

from tests.conformance.test_order import IN_ORDER, broken
from tests.support.api import (
    CHAT,
    MARKER,
    MODELS,
    STATUS,
    Api,
    assert_refused,
    compact,
    draft,
)
from tests.support.wire import Answer, request

Trigger = Callable[[Api], Answer]


def with_a_message_of(**members: object) -> Trigger:
    message = {"role": "user", "content": MARKER, **members}
    return lambda api: api.chat(draft(messages=[message]))


def breaking(rule: str) -> Trigger:
    return lambda api: api.send(broken(api, rule))


# One request for every code; rates and timeouts are in test_rates.py.
TRIGGERS: dict[str, Trigger] = {
    **{violation.code: breaking(rule) for rule, violation in IN_ORDER.items()},
    "unsupported_transfer_coding": lambda api: api.ask(
        "POST", CHAT, [*api.usual_fields, ("Transfer-Encoding", "gzip, chunked")]
    ),
    "target_too_long": lambda api: api.ask("GET", "/" + "a" * 17_000),
}


def test_every_code_has_a_trigger_here() -> None:
    assert set(STATUS) - set(TRIGGERS) == {"rate_limited", "request_timeout"}


@pytest.mark.parametrize("code", TRIGGERS)
def test_a_refusal_has_the_exact_form(api: Api, code: str) -> None:
    # After these requests, the client's heads are recognized instead of parsed.
    for _ in range(6):
        assert api.chat(draft()).status == 200
    answers = [TRIGGERS[code](api) for _ in range(3)]
    for answer in answers:
        assert_refused(answer, code)
        challenge = "Bearer" if code == "invalid_key" else None
        assert answer.header("WWW-Authenticate") == challenge
        assert answer.header("Retry-After") is None
        if api.cabinet_url:  # unknown with --base-url
            page = f"{api.cabinet_url.rstrip('/')}/docs/errors#{code}"
            assert answer.header("Link") == f'<{page}>; rel="help"'
    assert len({answer.header("X-Request-Id") for answer in answers}) == 3


def test_a_refusal_has_the_exact_bytes(api: Api) -> None:
    # Read without the parser of the other tests, which might hide something.
    raw = request("GET", "/v1/nothing", [*api.usual_fields, ("Connection", "close")])
    with api.endpoint.connect() as connection:
        connection.send(raw)
        received = connection.rest()
    assert received.startswith(b"HTTP/1.1 404 Not Found (not_found)\r\n")
    assert received.endswith(b'\r\n\r\n{"error":{"code":"not_found"}}')


def test_neither_text_nor_key_is_repeated_wherever_they_are(api: Api) -> None:
    # The server's files are searched once it has stopped: see conftest.py.
    careless = [("User-Agent", f"careless/1 {api.key}")]
    assert api.chat(draft(), extra=careless).status == 200
    answers = [
        api.chat(draft(), extra=[("Content-Encoding", MARKER)]),
        *(api.chat(body) for body in (MARKER.encode(), draft(**{f"{MARKER}!": 1}))),
        *(api.chat(draft(**{name: 1})) for name in (api.key, f"my key {api.key}")),
        *(api.chat(draft(**{name: api.key})) for name in ("model", "stream")),
        api.chat(draft(messages=api.key)),
        with_a_message_of(role=MARKER)(api),
        with_a_message_of(**{f"{MARKER} ": 1})(api),
        api.ask(MARKER, MODELS),
        api.ask("GET", f"/v1/{MARKER}"),
        api.ask("GET", f"/%0d%0aX-{MARKER}:1"),
        api.ask("GET", f"{MODELS}?key={api.key}&{MARKER}"),
        api.send(f"GET / HTTP/1.1\r\nHost: {MARKER}@{api.key}\r\n\r\n".encode()),
        api.send(f"{MARKER}\r\n\r\n{api.key}\r\n\r\n".encode()),
        api.with_key(f"sk-echo-{MARKER}").chat(draft()),
    ]
    for answer in answers:
        assert answer.status in STATUS.values()
        for secret in (MARKER, api.key):
            assert secret.encode() not in answer.head + answer.body


def test_a_wrong_media_type_does_not_hide_the_other_differences(api: Api) -> None:
    body = compact(draft(stream=True))
    fields = [*api.usual_fields, ("Content-Type", "text/plain")]
    length = ("Content-Length", str(len(body)))
    answer = api.send(request("POST", CHAT, [*fields, length], body))
    detail = assert_refused(answer, "unsupported_media_type")
    assert "application/json" in detail and "stream must be false" in detail


# Explanations in the body, for clients that show nothing else


def explained(api: Api, body: object, preference: str) -> bytes:
    return api.chat(body, extra=[("Prefer", preference)]).body


def test_prefer_explain_puts_the_detail_into_the_body(api: Api) -> None:
    # The detail quotes the value, so it contains quotation marks.
    answer = api.chat(draft(stream="false"), extra=[("Prefer", "explain")])
    detail = answer.header("X-Error-Detail")
    code = "stream_unavailable"
    assert json.loads(answer.body) == {"error": {"code": code, "message": detail}}


@pytest.mark.parametrize(
    "preference",
    ["EXPLAIN", "respond-async, explain", "explain; foo=bar", 'x="a, b", explain'],
)
def test_a_preference_may_be_one_of_several(api: Api, preference: str) -> None:
    assert b'"message":"' in explained(api, draft(stream=True), preference)


@pytest.mark.parametrize(
    "preference",
    ["explained", "noexplain", "x=explain", "", "explain=2", 'explain="x"']
    + ["x; explain", "ex plain", '"explain"'],
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
