"""Requests that repeat most of an earlier one on the same connection.

Programs repeat their head and most of their body with every request. Whatever a server
caches, it must treat each request as if it were the first. Any mixture of requests is
in tests/unit/api/test_many_clients.py.
"""

from tests.conformance.test_echo import TEXTS
from tests.conformance.test_json import AFTER, BAD_TEXTS, BEFORE
from tests.support.api import Api, assert_echo, assert_refused, compact, draft
from tests.support.tables import each
from tests.support.wire import Answer, Connection


def test_a_body_too_large_with_a_repeated_head_is_refused(api: Api) -> None:
    # Both lengths have five digits, so that the heads are of the same length.
    good = compact(draft("x"))
    with api.endpoint.connect() as connection:
        for _ in range(5):
            connection.send(api.chat_bytes(good.ljust(20_000)))
            assert_echo(connection.read_answer(), "x")
        connection.send(api.chat_bytes(good.ljust(40_000)))
        assert_refused(connection.read_answer(), "request_too_large")


# Texts that leave the bytes around them unchanged but end the string early.
BREAKING_OUT = {
    "a second message": (b'a"},{"role":"user","content":"b', "invalid_messages"),
    "a field of the message": (b'a","name":"b', "unknown_field"),
    "a second content": (b'a","content":"b', "invalid_json"),
    "a second role": (b'a","role":"user","content":"b', "invalid_json"),
    "an end and another begin": (b'a"}]}{"b":[{"c":"d', "invalid_json"),
    "a field of the body": (
        b'a"}],"n":1,"messages":[{"role":"user","content":"b',
        "invalid_json",
    ),
    "two strings": (b'a" "b', "invalid_json"),
    "two strings with a comma": (b'a","b', "invalid_json"),
    "a comment": (b'a"/**/,"', "invalid_json"),
}


def send_two_other_texts(api: Api, connection: Connection, size: int) -> None:
    """Send two other texts of this size in the usual frame."""
    for letter in (b"x", b"y"):
        text = letter * size
        connection.send(api.chat_bytes(BEFORE + text + AFTER))
        assert_echo(connection.read_answer(), text.decode())


def answer_in_repeated_frame(api: Api, text: bytes) -> Answer:
    """Send these bytes as the text in a frame that was just used with other texts."""
    with api.endpoint.connect() as connection:
        send_two_other_texts(api, connection, len(text))
        connection.send(api.chat_bytes(BEFORE + text + AFTER))
        answer = connection.read_answer()
        send_two_other_texts(api, connection, len(text))
        return answer


# Long texts are checked in another way.
BEFORE_TEXT = {"short": "", "long": "ы" * 200}


@each("before", BEFORE_TEXT)
@each("text", TEXTS)
def test_a_new_text_in_a_repeated_frame_is_returned(
    api: Api, text: str, before: str
) -> None:
    text = (before + text)[:8192] if before else text
    raw = compact(text)[1:-1]
    assert_echo(answer_in_repeated_frame(api, raw), text)
    escaped = compact(text, escaped=True)[1:-1]
    assert_echo(answer_in_repeated_frame(api, escaped), text)


@each("before", BEFORE_TEXT)
@each("text", BAD_TEXTS)
def test_a_bad_text_in_a_repeated_frame_is_refused(
    api: Api, text: bytes, before: str
) -> None:
    bad = before.encode() + text
    assert_refused(answer_in_repeated_frame(api, bad), "invalid_json")


@each("before", BEFORE_TEXT)
@each("text, code", BREAKING_OUT)
def test_a_text_cannot_break_out_of_a_repeated_frame(
    api: Api, text: bytes, code: str, before: str
) -> None:
    assert_refused(answer_in_repeated_frame(api, before.encode() + text), code)


def test_a_text_too_large_in_a_repeated_frame_is_refused(api: Api) -> None:
    # Of the same size on the wire, where an escape takes two bytes for one of text.
    fits, exceeds = rb"\n" + b"x" * 8191, b"x" * 8193
    assert len(fits) == len(exceeds)
    with api.endpoint.connect() as connection:
        for _ in range(2):
            connection.send(api.chat_bytes(BEFORE + fits + AFTER))
            assert_echo(connection.read_answer(), "\n" + "x" * 8191)
            connection.send(api.chat_bytes(BEFORE + exceeds + AFTER))
            assert_refused(connection.read_answer(), "content_too_large")


@each(
    "was, becomes, code",
    {
        "the model": (b"-echo", b"-ecoh", "invalid_model"),
        "the role": (b'"user"', b'"tool"', "invalid_role"),
        "a name": (b'"role"', b'"rule"', "unknown_field"),
        "a bracket": (b"[{", b"{{", "invalid_json"),
        "the last brace": (b" }", b" ]", "invalid_json"),
        "stream": (b'"stream":false', b'"stream":true ', "stream_unavailable"),
        "max_tokens": (b"2000", b"2001", "invalid_max_tokens"),
        "an integer": (b":2000 ", b":2e3  ", "invalid_max_tokens"),
    },
)
def test_a_change_outside_the_text_is_noticed(
    api: Api, was: bytes, becomes: bytes, code: str
) -> None:
    good = compact(draft("text", stream=False, max_tokens=2000))
    good = good.replace(b"2000", b"2000 ")
    assert was in good and len(was) == len(becomes)
    with api.endpoint.connect() as connection:
        for _ in range(3):
            connection.send(api.chat_bytes(good))
            assert_echo(connection.read_answer(), "text")
        connection.send(api.chat_bytes(good.replace(was, becomes)))
        assert_refused(connection.read_answer(), code)


def test_a_broken_body_after_a_refused_and_a_good_one_is_refused(api: Api) -> None:
    """Refuse a body that ends like the good one but is only a string."""
    good = BEFORE + b"x" * 20 + AFTER
    refused = good.replace(b'"user"', b'"used"')
    end = AFTER.lstrip(b'"')
    only_text = b'"' + b"y" * (len(good) - len(end) - 2) + b'"' + end
    assert len(good) == len(refused) == len(only_text)
    with api.endpoint.connect() as connection:
        for body in (refused, good, only_text, good, only_text):
            connection.send(api.chat_bytes(body))
            answer = connection.read_answer()
            if body is good:
                assert_echo(answer, "x" * 20)
            else:
                code = "invalid_json" if body is only_text else "invalid_role"
                assert_refused(answer, code)
