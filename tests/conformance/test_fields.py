"""The members of the request: unknown ones, missing ones, and wrong values."""

import itertools

import pytest

from tests.support.api import (
    MODEL,
    Api,
    assert_echo,
    assert_refused,
    compact,
    draft,
)
from tests.support.tables import each, words

WRONG_VALUES = {
    "null": b"null",
    "true": b"true",
    "false": b"false",
    "zero": b"0",
    "a fraction": b"1.5",
    "an empty string": b'""',
    "a string": b'"x"',
    "an empty array": b"[]",
    "an empty object": b"{}",
}

# Fields that clients of chat completions send and this contract does not have.
FOREIGN_FIELDS = words("""
    audio frequency_penalty function_call functions logit_bias logprobs
    max_completion_tokens metadata modalities n parallel_tool_calls prediction
    presence_penalty prompt prompt_cache_key reasoning_effort response_format
    safety_identifier seed service_tier stop store stream_options suffix temperature
    tool_choice tools top_k top_logprobs top_p user verbosity web_search_options
""")
LOOKALIKES = ["Model", "MODEL", "model ", " model", "message", "maxTokens", "Stream"]
ODD_NAMES = ["", " ", "\x00", "\ufeffmodel", "поле", "😀", "__proto__", "a" * 3000]
FOREIGN_MESSAGE_FIELDS = words("""
    name tool_calls tool_call_id function_call refusal audio annotations
    cache_control reasoning_content model id
""")


def with_value(field: str, value: bytes) -> bytes:
    """Return a request with this value in one field of the body or of the message."""
    body = draft(stream=False, max_tokens=2000)
    holder = body["messages"][0] if field in ("role", "content") else body
    holder[field] = "VALUE"
    return compact(body).replace(b'"VALUE"', value)


def each_wrong_value(but_not: str = "") -> pytest.MarkDecorator:
    return each("value", {k: v for k, v in WRONG_VALUES.items() if k != but_not})


# Unknown fields


@pytest.mark.parametrize("name", FOREIGN_FIELDS + LOOKALIKES + ODD_NAMES)
def test_an_unknown_field_is_refused(api: Api, name: str) -> None:
    detail = assert_refused(api.chat(draft(**{name: 1})), "unknown_field")
    assert name in detail or name not in FOREIGN_FIELDS
    assert_refused(api.chat({name: None, **draft()}), "unknown_field")


@pytest.mark.parametrize("name", [*FOREIGN_MESSAGE_FIELDS, "Role", "role ", ""])
def test_an_unknown_field_of_the_message_is_refused(api: Api, name: str) -> None:
    last = {"role": "user", "content": "x", name: "x"}
    detail = assert_refused(api.chat(draft(messages=[last])), "unknown_field")
    assert name in detail and "message" in detail or name not in FOREIGN_MESSAGE_FIELDS
    first = {name: None, "role": "user", "content": "x"}
    assert_refused(api.chat(draft(messages=[first])), "unknown_field")


@each(
    "name",
    {
        "a line end": "a\r\nX-Injected: 1",
        "a line feed": "a\nX-Injected: 1",
        "letters outside ASCII": "температура",
        "terminal colours": "\x1b[31mred",
    },
)
def test_a_field_name_cannot_inject_a_header(api: Api, name: str) -> None:
    answer = api.chat(draft(**{name: 1}))
    assert_refused(answer, "unknown_field")
    assert answer.header("X-Injected") is None


def test_a_key_used_as_a_field_name_is_not_repeated(api: Api) -> None:
    assert_refused(api.chat(draft(**{api.key: 1})), "unknown_field")
    assert_refused(api.chat(draft(**{f"my key {api.key}": 1})), "unknown_field")


def test_an_unknown_field_is_refused_whatever_its_value(api: Api) -> None:
    values = [*WRONG_VALUES.values(), b"9" * 5000, b"1e400", b'{"a":[{"b":null}]}']
    for value in values:
        assert_refused(api.chat(with_value("zebra", value)), "unknown_field")


# Missing fields


@pytest.mark.parametrize("field", ["model", "messages"])
def test_a_body_without_a_required_field_is_refused(api: Api, field: str) -> None:
    body = draft()
    del body[field]
    assert field in assert_refused(api.chat(body), "missing_field")


def test_an_empty_object_is_refused(api: Api) -> None:
    assert_refused(api.chat(b"{}"), "missing_field")


@pytest.mark.parametrize("field", ["role", "content"])
def test_a_message_without_a_required_field_is_refused(api: Api, field: str) -> None:
    body = draft()
    del body["messages"][0][field]
    assert field in assert_refused(api.chat(body), "missing_field")


def test_an_empty_message_is_refused(api: Api) -> None:
    assert_refused(api.chat(draft(messages=[{}])), "missing_field")


# The value of each field


@each_wrong_value()
def test_a_model_of_another_type_or_name_is_refused(api: Api, value: bytes) -> None:
    detail = assert_refused(api.chat(with_value("model", value)), "invalid_model")
    assert MODEL in detail


@pytest.mark.parametrize(
    "model",
    ["gpt-4o", MODEL.upper(), f"{MODEL} ", f" {MODEL}", f"{MODEL}\x00", MODEL[:-1]]
    + [f"{MODEL}-2", f"vendor/{MODEL}", MODEL.replace("-", "\u2010"), "m" * 8000],
)
def test_only_the_one_model_is_offered(api: Api, model: str) -> None:
    assert_refused(api.chat(draft(model=model)), "invalid_model")


@each_wrong_value()
def test_messages_that_are_not_one_message_are_refused(api: Api, value: bytes) -> None:
    assert_refused(api.chat(with_value("messages", value)), "invalid_messages")


@each("value", WRONG_VALUES)
def test_a_message_that_is_not_an_object_is_refused(api: Api, value: bytes) -> None:
    code = "missing_field" if value == b"{}" else "invalid_messages"
    answer = api.chat(with_value("messages", b"[" + value + b"]"))
    assert_refused(answer, code)


@pytest.mark.parametrize("number", [2, 3, 8, 100])
def test_more_than_one_message_is_refused(api: Api, number: int) -> None:
    messages = [{"role": "user", "content": "x"}] * number
    assert_refused(api.chat(draft(messages=messages)), "invalid_messages")


@each_wrong_value()
def test_a_role_of_another_type_or_name_is_refused(api: Api, value: bytes) -> None:
    detail = assert_refused(api.chat(with_value("role", value)), "invalid_role")
    assert "user" in detail


@pytest.mark.parametrize(
    "role", ["system", "assistant", "tool", "developer", "User", "user ", "us\u0435r"]
)
def test_only_the_role_user_is_accepted(api: Api, role: str) -> None:
    body = draft(messages=[{"role": role, "content": "x"}])
    assert_refused(api.chat(body), "invalid_role")


@each_wrong_value(but_not="a string")
def test_content_that_is_not_a_string_is_refused(api: Api, value: bytes) -> None:
    code = "empty_content" if value == b'""' else "invalid_content"
    assert "content" in assert_refused(api.chat(with_value("content", value)), code)


def test_content_in_parts_is_refused(api: Api) -> None:
    parts = [{"type": "text", "text": "zyzzyva-47"}]
    assert_refused(api.chat(draft(parts)), "invalid_content")


@each_wrong_value(but_not="false")
def test_a_stream_that_is_not_false_is_refused(api: Api, value: bytes) -> None:
    assert_refused(api.chat(with_value("stream", value)), "stream_unavailable")


@pytest.mark.parametrize("value", [b"0.0", b"-0", b"1", b'"false"', b'"False"'])
def test_a_value_that_resembles_false_is_refused(api: Api, value: bytes) -> None:
    detail = assert_refused(api.chat(with_value("stream", value)), "stream_unavailable")
    assert "stream" in detail and "false" in detail


@each_wrong_value()
def test_a_max_tokens_that_is_not_2000_is_refused(api: Api, value: bytes) -> None:
    assert_refused(api.chat(with_value("max_tokens", value)), "invalid_max_tokens")


@pytest.mark.parametrize("value", [b"1999", b"2001", b"-2000", b"5", b"20000", b"1"])
def test_no_other_number_of_tokens_is_accepted(api: Api, value: bytes) -> None:
    answer = api.chat(with_value("max_tokens", value))
    detail = assert_refused(answer, "invalid_max_tokens")
    assert "max_tokens" in detail and "2000" in detail


@pytest.mark.parametrize(
    "value", [b"2000.0", b"2e3", b"2E3", b"2E+3", b"20000e-1", b"2000.0e0", b'"2000"']
)
def test_2000_must_be_written_as_an_integer(api: Api, value: bytes) -> None:
    assert_refused(api.chat(with_value("max_tokens", value)), "invalid_max_tokens")


@each(
    "value",
    {
        "5000 digits": b"9" * 5000,
        "5000 digits below zero": b"-" + b"9" * 5000,
        "2000 and 5000 zeros": b"2000" + b"0" * 5000,
        "2000 beyond 64 bits": str(2**64 + 2000).encode(),
        "beyond 63 bits": str(2**63).encode(),
        "5000 digits after the point": b"2000." + b"0" * 5000,
        "a power beyond any float": b"1e400",
        "a power below any float": b"1e-400",
        "an exponent of 5000 digits": b"1e" + b"9" * 5000,
    },
)
def test_a_huge_number_is_refused_like_any_wrong_number(api: Api, value: bytes) -> None:
    assert_refused(api.chat(with_value("max_tokens", value)), "invalid_max_tokens")


@pytest.mark.parametrize("field", ["model", "messages", "role", "content", "stream"])
def test_a_huge_number_is_a_wrong_value_in_any_other_field(
    api: Api, field: str
) -> None:
    codes = {
        "model": "invalid_model",
        "messages": "invalid_messages",
        "role": "invalid_role",
        "content": "invalid_content",
        "stream": "stream_unavailable",
    }
    for value in (b"9" * 5000, b"1e400"):
        assert_refused(api.chat(with_value(field, value)), codes[field])


def test_the_order_of_the_fields_does_not_change_the_refusal(api: Api) -> None:
    body = draft(model="x", stream=True, zebra=1)
    for order in itertools.permutations(body):
        shuffled = {name: body[name] for name in order}
        assert_refused(api.chat(shuffled), "unknown_field")


def test_the_right_values_are_accepted(api: Api) -> None:
    # Proves that each refusal above is caused by the value that it changes.
    assert_echo(api.chat(with_value("content", b'"x"')), "x")
    assert_echo(api.chat(with_value("max_tokens", b"2000")), "zyzzyva-47")
