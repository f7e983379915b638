"""The members of the request: unknown ones, missing ones, and wrong values."""

import itertools

import pytest

from tests.support.api import MODEL, Api, assert_echo, assert_refused, compact, draft
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
    frequency_penalty functions max_completion_tokens metadata n prompt
    reasoning_effort response_format seed stop stream_options temperature tools user
""")
LOOKALIKES = ["Model", "MODEL", "model ", " model", "message", "maxTokens", "Stream"]
ODD_NAMES = ["", " ", "\x00", "\ufeffmodel", "поле", "😀", "__proto__", "a" * 3000]
HOSTILE_NAMES = ["a\r\nX-Injected: 1", "a\nX-Injected: 1", "\x1b[31mred"]
FOREIGN_MESSAGE_FIELDS = words("name tool_calls refusal cache_control model id")


def with_value(field: str, value: bytes) -> bytes:
    """Return a request with this value in one field of the body or of the message."""
    body = draft(stream=False, max_tokens=2000)
    holder = body["messages"][0] if field in ("role", "content") else body
    holder[field] = "VALUE"
    return compact(body).replace(b'"VALUE"', value)


# Unknown fields


@pytest.mark.parametrize(
    "name", FOREIGN_FIELDS + LOOKALIKES + ODD_NAMES + HOSTILE_NAMES
)
def test_an_unknown_field_is_refused(api: Api, name: str) -> None:
    answer = api.chat(draft(**{name: 1}))
    detail = assert_refused(answer, "unknown_field")
    assert name in detail or name not in FOREIGN_FIELDS
    assert answer.header("X-Injected") is None
    assert_refused(api.chat({name: None, **draft()}), "unknown_field")


@pytest.mark.parametrize("name", [*FOREIGN_MESSAGE_FIELDS, "Role", "role ", ""])
def test_an_unknown_field_of_the_message_is_refused(api: Api, name: str) -> None:
    last = {"role": "user", "content": "x", name: "x"}
    detail = assert_refused(api.chat(draft(messages=[last])), "unknown_field")
    assert name in detail and "message" in detail or name not in FOREIGN_MESSAGE_FIELDS
    first = {name: None, "role": "user", "content": "x"}
    assert_refused(api.chat(draft(messages=[first])), "unknown_field")


def test_an_unknown_field_is_refused_whatever_its_value(api: Api) -> None:
    values = [*WRONG_VALUES.values(), b"9" * 5000, b"1e400", b'{"a":[{"b":null}]}']
    for value in values:
        assert_refused(api.chat(with_value("zebra", value)), "unknown_field")


# Missing fields


@pytest.mark.parametrize("field", ["model", "messages", "role", "content"])
def test_a_request_without_a_required_field_is_refused(api: Api, field: str) -> None:
    body = draft()
    holder = body if field in body else body["messages"][0]
    del holder[field]
    assert field in assert_refused(api.chat(body), "missing_field")


# The value of each field

CODES = {
    "model": "invalid_model",
    "messages": "invalid_messages",
    "role": "invalid_role",
    "content": "invalid_content",
    "stream": "stream_unavailable",
    "max_tokens": "invalid_max_tokens",
}
# Words that the sentence of each refusal must contain.
WORDS = {
    "model": [MODEL],
    "messages": ["messages"],
    "role": ["user"],
    "content": ["content"],
    "stream": ["stream", "false"],
    "max_tokens": ["max_tokens", "2000"],
}
HUGE_NUMBERS = {"5000 digits": b"9" * 5000, "a power beyond any float": b"1e400"}
OTHER_WRONG_VALUES = {
    "model": [
        compact(name)
        for name in ["gpt-4o", MODEL.upper(), f"{MODEL} ", f" {MODEL}", f"{MODEL}\x00"]
        + [MODEL[:-1], f"{MODEL}-2", f"vendor/{MODEL}", "m" * 8000]
        + [MODEL.replace("-", "\u2010")]
    ],
    "messages": [compact(draft()["messages"] * number) for number in (2, 3, 8, 100)],
    "role": [
        compact(role)
        for role in ["system", "assistant", "tool", "developer", "User", "user "]
        + ["us\u0435r"]
    ],
    "content": [b'[{"type":"text","text":"zyzzyva-47"}]'],
    "stream": [b"0.0", b"-0", b"1", b'"false"', b'"False"'],
    # 2000 must be written as an integer.
    "max_tokens": [b"1999", b"2001", b"-2000", b"5", b"20000", b"1", b"2000.0", b"2e3"]
    + [b"2E3", b"2E+3", b"20000e-1", b"2000.0e0", b'"2000"', b"-" + b"9" * 5000]
    + [b"2000" + b"0" * 5000, str(2**64 + 2000).encode(), str(2**63).encode()]
    + [b"2000." + b"0" * 5000, b"1e-400", b"1e" + b"9" * 5000],
}


def assert_refused_because_of(api: Api, field: str, value: bytes) -> None:
    is_empty = (field, value) == ("content", b'""')
    code = "empty_content" if is_empty else CODES[field]
    detail = assert_refused(api.chat(with_value(field, value)), code)
    assert [word for word in WORDS[field] if word not in detail] == []


@pytest.mark.parametrize("field", CODES)
@each("value", WRONG_VALUES | HUGE_NUMBERS)
def test_a_wrong_value_gets_the_code_of_its_field(
    api: Api, field: str, value: bytes
) -> None:
    if (field, value) not in (("content", b'"x"'), ("stream", b"false")):
        assert_refused_because_of(api, field, value)


@pytest.mark.parametrize("field", OTHER_WRONG_VALUES)
def test_a_value_that_resembles_the_right_one_is_refused(api: Api, field: str) -> None:
    for value in OTHER_WRONG_VALUES[field]:
        assert_refused_because_of(api, field, value)


@each("value", WRONG_VALUES)
def test_a_message_that_is_not_an_object_is_refused(api: Api, value: bytes) -> None:
    code = "missing_field" if value == b"{}" else "invalid_messages"
    answer = api.chat(with_value("messages", b"[" + value + b"]"))
    assert_refused(answer, code)


def test_the_order_of_the_fields_does_not_change_the_refusal(api: Api) -> None:
    body = draft(model="x", stream=True, zebra=1)
    for order in itertools.permutations(body):
        shuffled = {name: body[name] for name in order}
        assert_refused(api.chat(shuffled), "unknown_field")


def test_the_right_values_are_accepted(api: Api) -> None:
    # Proves that each refusal above is caused by the changed value.
    assert_echo(api.chat(with_value("content", b'"x"')), "x")
    assert_echo(api.chat(with_value("max_tokens", b"2000")), "zyzzyva-47")
