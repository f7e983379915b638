"""One refusal names every difference of a request; in its body, too, on demand.

All differences of a body are in tests/unit/api/endpoints/test_refusal.py.
"""

import json

import pytest

from tests.support.api import CHAT, Api, assert_refused, compact, draft
from tests.support.wire import request


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
    answer = api.chat(draft(stream=True), extra=[("Prefer", "explain")])
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
