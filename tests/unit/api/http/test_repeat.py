"""A repeated message is recognised by its bytes, and anything else is not."""

import pytest

from readback.api.http.repeat import Repeat

HEAD = b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"
BODY = b'{"a":"x"}'


def end_of_prefix(data: bytes, start: int) -> bytes:
    return b"%d" % start


REPEAT = Repeat(HEAD + BODY[:5], len(HEAD + BODY), end_of_prefix)


@pytest.mark.parametrize("body", [BODY, b'{"a":"y"}', b'{"a":anyt'])
def test_the_same_prefix_and_length_are_a_repetition(body: bytes) -> None:
    assert REPEAT.answer(HEAD + body) == b"%d" % len(HEAD + BODY[:5])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEAD,
        HEAD + BODY[:-1],
        HEAD + BODY + b"x",
        HEAD + BODY + HEAD + BODY,
        HEAD.lower() + BODY,
        HEAD + b'{"b":"x"}',
        b"x" * len(HEAD + BODY),
    ],
)
def test_other_bytes_are_left_to_the_parser(data: bytes) -> None:
    assert REPEAT.answer(data) is None


def test_a_repetition_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        REPEAT.prefix = b""  # type: ignore[misc]
