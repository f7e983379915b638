"""One line names every difference, fits into a header, and has a hint for the program.

What a live server answers is in tests/conformance/test_all_differences.py.
"""

import json
import re
from typing import Any

import pytest

from readback import differences, programs
from readback.api.endpoints.refusal import Explanation, examine, explain
from readback.contract import MAX_TOKENS

MODEL = "vendor-cabinet-preview-echo"


def explanation_of(body: Any, user_agent: str = "") -> Explanation:
    findings = examine(json.dumps(body).encode())
    assert isinstance(findings, list)
    return explain(findings, user_agent)


def body(**members: Any) -> dict[str, Any]:
    message = {"role": "user", "content": "zyzzyva-47"}
    return {"model": MODEL, "messages": [message], **members}


SYSTEM = {"role": "system", "content": "zyzzyva-47"}
USER = {"role": "user", "content": "zyzzyva-47"}
ASSISTANT = {"role": "assistant", "content": "zyzzyva-47"}


def test_every_difference_is_named_in_the_order_of_the_contract():
    members = {"temperature": 1, "top_p": 1, "stream": True, "max_tokens": 16}

    found = explanation_of(body(messages=[SYSTEM, USER], **members))

    assert found == (
        "unknown_field",
        "The fields temperature and top_p are not accepted: the body may only contain "
        "model, messages, stream and max_tokens. Also: messages must be an array of "
        "exactly 1 message, got 2 (a system prompt is not accepted); stream must be "
        "false or "
        f"omitted, got true; max_tokens must be the integer {MAX_TOKENS} or omitted, "
        "got 16. "
        "Leave temperature unset.",
        "temperature top_p messages.system stream max_tokens",
    )


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
def test_the_messages_have_differences_of_their_own(messages, differences):
    assert explanation_of(body(messages=messages)).differences == differences


def test_a_long_list_ends_with_the_number_of_the_others():
    unknown = {f"field_number_{number:02}": 1 for number in range(40)}

    found = explanation_of(body(**unknown))

    assert "field_number_00, field_number_01" in found.detail
    assert re.search(r" and \d+ more are not accepted", found.detail)
    assert len(found.differences) <= 400


def test_what_does_not_fit_into_a_header_is_counted():
    unknown = {f"{'x' * 36}_{number:03}": 1 for number in range(40)}
    message = {**unknown, "role": "system", "content": []}
    messages = [SYSTEM, {"role": "assistant"}, message]
    wrong = {"stream": "x", "max_tokens": 10**18, "model": "m" * 40, "tools": []}

    found = explanation_of(
        body(**unknown, **wrong, messages=messages), "OpenAI/Python 2"
    )

    assert " Also: 7 more. " in found.detail
    assert len(found.detail) <= 1000


def test_names_that_no_program_sends_do_not_push_out_the_others():
    unknown = {"x" * 39 + str(number): 1 for number in range(9)}

    found = explanation_of(body(**unknown, stream=True, max_tokens=1))

    assert found.differences.startswith("stream max_tokens x")


def program(name: str) -> programs.Program:
    return next(row for row in programs.table() if row.name == name)


def test_the_hint_is_for_the_program_that_sent_the_request():
    curl = explanation_of(body(temperature=1), "curl/8.5.0").detail
    alone = explanation_of(body(stream=True), "pydantic-ai/2.66.0").detail

    assert "LlamaIndex" not in curl
    assert curl.endswith("Leave temperature unset.")
    switch = program("pydantic-ai").switches["stream"]
    assert alone == (
        f"stream must be false or omitted; got true. pydantic-ai: {switch}."
    )


def test_a_library_is_named_after_what_any_program_can_do():
    parts = {**USER, "content": [{"type": "text", "text": "zyzzyva-47"}]}

    found = explanation_of(body(messages=[parts]), "OpenAI/Python 3.49.0").detail

    general = differences.advice("message.content")
    assert f" {general} openai for Python: pass content as a string" in found


@pytest.mark.parametrize("row", programs.table(), ids=lambda row: row.name)
def test_a_hint_has_a_bound_whatever_differs(row):
    """A hostile body leaves no room for more than the hint."""
    every = sorted({*row.switches, *row.cannot, "messages.system", "n"})
    for connected in (True, False):
        assert len(row.hint(every, connected=connected)) < 450
