"""One line names every difference, fits into a header, and has a hint for the program.

A live server's answers are tested in tests/conformance/test_refusals.py.
"""

import json
import re
from typing import Any

import pytest
from tests.unit.test_programs import DEFAULT

from readback import differences, programs
from readback.api.endpoints.refusal import Explanation, examine, explain

MODEL = "vendor-cabinet-preview-echo"


def explanation_of(body: Any, user_agent: str = "") -> Explanation:
    findings = examine(json.dumps(body).encode())
    assert isinstance(findings, list)
    return explain(findings, user_agent)


SYSTEM, USER, ASSISTANT = (
    {"role": role, "content": "zyzzyva-47"} for role in ("system", "user", "assistant")
)


def body(**members: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": [USER], **members}


def test_every_difference_is_named_in_the_order_of_the_contract():
    members = {"temperature": 1, "top_p": 1, "stream": True, "max_tokens": 16}

    found = explanation_of(body(messages=[SYSTEM, USER], **members))

    assert found == (
        "unknown_field",
        "The fields temperature and top_p are not accepted: the body may only contain "
        "model, messages, stream and max_tokens. Also: messages must be an array of "
        "exactly 1 message, got 2 (a system prompt is not accepted); stream must be "
        "false or omitted, got true; max_tokens must be the integer 2000 or omitted, "
        "got 16. Remove the system prompt. Turn off streaming. Set max_tokens to 2000, "
        f"or leave it unset. Do not send temperature. Do not send top_p. {DEFAULT}",
        "messages.system stream max_tokens temperature top_p",
    )


def with_role(role: object) -> dict[str, Any]:
    return body(messages=[USER | {"role": role}])


@pytest.mark.parametrize(
    ("request_body", "got", "hint"),
    [
        (with_role("User"), 'got the string "User"', "role user."),
        (with_role(" user\n"), r'got the string " user\n"', "role user."),
        (with_role("USER\u200b"), r'got the string "USER\u200b"', "role user."),
        (with_role("use"), "got a string of 3 characters", "role user."),
        (with_role("\n" * 99 + "user"), "got a string of 103 characters", "user."),
        (body(model=f"{MODEL} "), f'got the string "{MODEL} "', MODEL + "."),
        (body(stream="false"), 'got the string "false"', "as the value false"),
        (body(stream="False"), 'got the string "False"', "value false"),
        (body(stream=None), "got null", "Send stream as the value false"),
        (body(stream=True), "got true", "Turn off streaming."),
        (body(max_tokens="2000"), 'got the string "2000"', "Set max_tokens to 2000"),
        (body(messages={"role": "user"}), "got an object", "an array of exactly one"),
        (body(messages=[USER | {"content": None}]), "got null", "as one string."),
    ],
)
def test_the_detail_says_what_is_almost_right_and_the_hint_fits(
    request_body: Any, got: str, hint: str
):
    detail = explanation_of(request_body).detail
    assert got in detail
    assert hint in detail
    assert "list of parts" not in detail


def test_an_empty_body_is_not_told_to_use_a_library():
    [finding] = examine(b"")
    found = explain([finding], "")
    assert found.code == "invalid_json"
    assert found.detail.endswith("Send the fields model and messages in the body.")


@pytest.mark.parametrize(
    "messages, differences",
    [
        ([SYSTEM, USER], "messages.system"),
        ([USER, USER], "messages.history"),
        ([SYSTEM, USER, ASSISTANT, USER], "messages.system messages.history"),
        ([SYSTEM, SYSTEM], "messages.system message.role"),
        ([SYSTEM], "message.role"),
        ([], "messages"),
        ({}, "messages"),
        (["x"], "messages"),
        ([{**USER, "name": "Alice"}], "message.name"),
        ([SYSTEM, {**USER, "content": [{}]}], "messages.system message.content"),
        ([{"role": "user"}], "message.content"),
        ([{"role": "user", "content": ""}], "message.empty"),
        ([{"role": "user", "content": "x" * 9000}], "message.too_large"),
    ],
)
def test_each_mistake_in_the_messages_has_its_own_difference(messages, differences):
    assert explanation_of(body(messages=messages)).differences == differences


def test_a_long_list_ends_with_the_number_of_omitted_names():
    unknown = {f"field_number_{number:02}": 1 for number in range(40)}

    found = explanation_of(body(**unknown))

    assert "field_number_00, field_number_01" in found.detail
    assert re.search(r" and \d+ more are not accepted", found.detail)
    assert len(found.differences) <= 400


def test_what_does_not_fit_into_a_header_is_counted():
    unknown = {f"{'x' * 36}_{number:03}": 1 for number in range(40)}
    messages = [SYSTEM, {"role": "assistant"}, SYSTEM | unknown | {"content": []}]
    wrong = {"stream": "x", "max_tokens": 10**18, "model": "m" * 40, "tools": []}
    sent = body(**unknown, **wrong, messages=messages)

    found = explanation_of(sent, "OpenAI/Python 2")

    assert " Also: 7 more. " in found.detail and " more. Your program" in found.detail
    assert len(found.detail) <= 1000


def test_names_that_no_program_sends_do_not_push_out_the_others():
    unknown = {"x" * 39 + str(number): 1 for number in range(9)}

    found = explanation_of(body(**unknown, stream=True, max_tokens=1))

    assert found.differences.startswith("stream max_tokens x")


def test_the_hint_is_for_the_program_that_sent_the_request():
    curl = explanation_of(body(temperature=1), "curl/8.5.0").detail
    alone = explanation_of(body(stream=True), "pydantic-ai/2.66.0").detail

    assert curl.endswith(f"Do not send temperature. {DEFAULT}")
    switch = programs.recognise("pydantic-ai/2.66.0").switch("stream")
    assert alone == f"stream must be false or omitted; got true. pydantic-ai: {switch}."


@pytest.mark.parametrize("agent", ["x", "OpenAI/Python 3", "pydantic-ai/2", "Zed/1"])
def test_the_advice_is_bounded_whatever_differs(agent: str):
    """A hostile body may differ in everything at once."""
    for connected in (True, False):
        found = programs.advise(agent, [*differences.ADVICE, "n"], connected=connected)
        assert len(found) <= programs.ADVICE_LENGTH
