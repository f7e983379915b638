"""The order of the checks: if a request breaks two rules, the first is reported.

A valid request is changed to break each rule, and each pair of rules that one request
can break at the same time. The rate, fifth in the order, is in test_rates.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest

from tests.support.api import (
    CHAT,
    Api,
    assert_echo,
    assert_refused,
    compact,
    draft,
)
from tests.support.wire import request


@dataclass
class Plan:
    """A valid request that can be changed to break rules."""

    target: str = CHAT
    first: list[tuple[str, str]] = field(default_factory=list)
    bearer: bool = True
    media: str = "application/json"
    body: dict[str, Any] = field(default_factory=draft)
    cut: int = 0
    size: int = 0

    @property
    def message(self) -> dict[str, Any]:
        return self.body["messages"][0]

    def render(self, api: Api) -> bytes:
        body = compact(self.body)
        body = body[: len(body) - self.cut].ljust(self.size)
        fields = [*self.first, api.host, *([api.bearer] if self.bearer else [])]
        length = ("Content-Length", str(len(body)))
        fields += [("Content-Type", self.media), length]
        return request("POST", self.target, fields, body)


def malformed(plan: Plan) -> None:
    plan.first.insert(0, ("Bad name", "x"))


def head_too_large(plan: Plan) -> None:
    plan.first.append(("X-Padding", "a" * 17_000))


def wrong_path(plan: Plan) -> None:
    plan.target = "/v1/nothing"


def no_key(plan: Plan) -> None:
    plan.bearer = False


def body_too_large(plan: Plan) -> None:
    plan.size = 32_769


def wrong_media_type(plan: Plan) -> None:
    plan.media = "text/plain"


def not_json(plan: Plan) -> None:
    plan.cut = 1


def unknown_field(plan: Plan) -> None:
    # First in the body, so that a reader that stops here misses what follows.
    plan.body = {"temperature": 0, **plan.body}


def missing_messages(plan: Plan) -> None:
    del plan.body["messages"]


def missing_model(plan: Plan) -> None:
    del plan.body["model"]


def wrong_model(plan: Plan) -> None:
    plan.body["model"] = "gpt-4o"


def two_messages(plan: Plan) -> None:
    plan.body["messages"] *= 2


def unknown_field_of_message(plan: Plan) -> None:
    plan.message["name"] = "Alice"


def missing_content(plan: Plan) -> None:
    del plan.message["content"]


def missing_role(plan: Plan) -> None:
    del plan.message["role"]


def wrong_role(plan: Plan) -> None:
    plan.message["role"] = "system"


def content_of_wrong_type(plan: Plan) -> None:
    plan.message["content"] = ["zyzzyva-47"]


def empty_content(plan: Plan) -> None:
    plan.message["content"] = ""


def content_too_large(plan: Plan) -> None:
    plan.message["content"] = "x" * 8193


def stream(plan: Plan) -> None:
    plan.body["stream"] = True


def max_tokens(plan: Plan) -> None:
    plan.body["max_tokens"] = 5


Violation = Callable[[Plan], None]

IN_ORDER: dict[Violation, str] = {
    malformed: "malformed_request",
    head_too_large: "headers_too_large",
    wrong_path: "not_found",
    no_key: "invalid_key",
    body_too_large: "request_too_large",
    wrong_media_type: "unsupported_media_type",
    not_json: "invalid_json",
    unknown_field: "unknown_field",
    missing_messages: "missing_field",
    missing_model: "missing_field",
    wrong_model: "invalid_model",
    two_messages: "invalid_messages",
    unknown_field_of_message: "unknown_field",
    missing_content: "missing_field",
    missing_role: "missing_field",
    wrong_role: "invalid_role",
    content_of_wrong_type: "invalid_content",
    empty_content: "empty_content",
    content_too_large: "content_too_large",
    stream: "stream_unavailable",
    max_tokens: "invalid_max_tokens",
}

OF_THE_MESSAGE = {
    two_messages,
    unknown_field_of_message,
    missing_content,
    missing_role,
    wrong_role,
    content_of_wrong_type,
    empty_content,
    content_too_large,
}
OF_THE_CONTENT = {
    missing_content,
    content_of_wrong_type,
    empty_content,
    content_too_large,
}


def excludes(first: Violation, second: Violation) -> bool:
    """Return whether no request can have both violations."""
    pair = {first, second}
    return (
        (first is missing_messages and second in OF_THE_MESSAGE)
        or pair == {missing_model, wrong_model}
        or pair == {missing_role, wrong_role}
        or pair <= OF_THE_CONTENT
    )


PAIRS = [pair for pair in combinations(IN_ORDER, 2) if not excludes(*pair)]


def plan_with(*violations: Violation) -> Plan:
    plan = Plan()
    # The later violation first, so that two messages are two copies of one that is
    # already wrong.
    for violation in reversed(violations):
        violation(plan)
    return plan


def test_the_unchanged_request_is_accepted(api: Api) -> None:
    assert_echo(api.send(Plan().render(api)), "zyzzyva-47")


@pytest.mark.parametrize(
    "violation", IN_ORDER, ids=lambda violation: violation.__name__
)
def test_each_violation_alone_gets_its_code(api: Api, violation: Violation) -> None:
    assert_refused(api.send(plan_with(violation).render(api)), IN_ORDER[violation])


@pytest.mark.parametrize(
    "first, second", PAIRS, ids=lambda violation: getattr(violation, "__name__", None)
)
def test_of_two_violations_the_first_in_order_is_reported(
    api: Api, first: Violation, second: Violation
) -> None:
    answer = api.send(plan_with(first, second).render(api))
    assert_refused(answer, IN_ORDER[first])
