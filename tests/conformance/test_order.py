"""The order of the checks: if a request breaks two rules, the first is reported.

A valid request is changed to break each pair of rules that one request can break at the
same time. Single violations are tested in test_refusals.py, and the rate limit, which
is fifth in the order, in test_rates.py.
"""

from itertools import combinations
from typing import Any, NamedTuple

import pytest

from tests.support.api import CHAT, Api, assert_echo, assert_refused, compact, draft
from tests.support.wire import request

MISSING = object()
VALID = {
    "first": None,
    "padding": None,
    "target": CHAT,
    "media": "application/json",
    "messages": 1,
    "size": 0,
    "cut": 0,
}


class Violation(NamedTuple):
    """A violation of a rule by one value in the request, its body or its message."""

    part: str
    name: str
    value: object
    code: str


IN_ORDER = {
    "malformed": Violation("request", "first", ("Bad name", "x"), "malformed_request"),
    "head too large": Violation(
        "request", "padding", ("X-Padding", "a" * 17_000), "headers_too_large"
    ),
    "wrong path": Violation("request", "target", "/v1/nothing", "not_found"),
    "no key": Violation("request", "bearer", None, "invalid_key"),
    "body too large": Violation("request", "size", 32_769, "request_too_large"),
    "wrong type": Violation("request", "media", "text/plain", "unsupported_media_type"),
    "not JSON": Violation("request", "cut", 1, "invalid_json"),
    "unknown field": Violation("body", "temperature", 0, "unknown_field"),
    "no messages": Violation("body", "messages", MISSING, "missing_field"),
    "no model": Violation("body", "model", MISSING, "missing_field"),
    "wrong model": Violation("body", "model", "gpt-4o", "invalid_model"),
    "two messages": Violation("request", "messages", 2, "invalid_messages"),
    "unknown in message": Violation("message", "name", "Alice", "unknown_field"),
    "no content": Violation("message", "content", MISSING, "missing_field"),
    "no role": Violation("message", "role", MISSING, "missing_field"),
    "wrong role": Violation("message", "role", "system", "invalid_role"),
    "list as content": Violation("message", "content", ["x"], "invalid_content"),
    "empty content": Violation("message", "content", "", "empty_content"),
    "large content": Violation("message", "content", "x" * 8193, "content_too_large"),
    "stream": Violation("body", "stream", True, "stream_unavailable"),
    "max_tokens": Violation("body", "max_tokens", 5, "invalid_max_tokens"),
}


def can_be_together(first: Violation, second: Violation) -> bool:
    if first.name == second.name:
        return False
    return first.name != "messages" or second.part != "message" or first.part != "body"


PAIRS = [
    pair
    for pair in combinations(IN_ORDER, 2)
    if can_be_together(*(IN_ORDER[name] for name in pair))
]


def changed(values: dict[str, Any], violations: list[Violation]) -> dict[str, Any]:
    """Return the values with these changes; new names come first."""
    changes = {each.name: each.value for each in violations}
    both = {k: v for k, v in changes.items() if k not in values} | values | changes
    return {name: value for name, value in both.items() if value is not MISSING}


def broken(api: Api, *names: str) -> bytes:
    """Return a request with these violations and no others."""

    def of(part: str) -> list[Violation]:
        return [IN_ORDER[name] for name in names if IN_ORDER[name].part == part]

    plan = changed(VALID | {"bearer": api.bearer}, of("request"))
    [message] = draft()["messages"]
    messages = [changed(message, of("message"))] * plan["messages"]
    body = compact(changed(draft(messages=messages), of("body")))
    body = body[: len(body) - plan["cut"]].ljust(plan["size"])
    fields = [plan["first"], plan["padding"], api.host, plan["bearer"]]
    fields += [("Content-Type", plan["media"]), ("Content-Length", str(len(body)))]
    return request("POST", plan["target"], list(filter(None, fields)), body)


def test_the_unchanged_request_is_accepted(api: Api) -> None:
    assert_echo(api.send(broken(api)), "zyzzyva-47")


@pytest.mark.parametrize("first, second", PAIRS)
def test_of_two_violations_the_first_in_order_is_reported(
    api: Api, first: str, second: str
) -> None:
    assert_refused(api.send(broken(api, first, second)), IN_ORDER[first].code)
