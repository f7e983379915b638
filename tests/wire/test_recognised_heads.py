"""A head that is recognised by its bytes is treated like one that is parsed.

It must be exactly between messages. tests/unit shows that any difference is noticed and
every key is checked.
"""

from tests.support.raw_requests import (
    assert_in_sync,
    post,
    post_body,
)
from tests.support.wire import Endpoint

BODY = b"x" * 90


def warmed(raw: bytes, echo: Endpoint):
    """Return a connection that has answered this request, whose head is known now."""
    connection = echo.connect()
    for _ in range(5):
        connection.send(raw)
        assert connection.read_answer().status == 200
    return connection


def test_a_repeated_head_inside_a_body_is_part_of_the_body(echo: Endpoint) -> None:
    # An earlier version answered such a second segment as a request.
    head = post(b"Content-Length: 100000")
    for known in (head + b"y" * 100_000, post_body(BODY)):
        with warmed(known, echo) as connection:
            part = known[: len(head) + 90]
            rest = b"y" * (100_000 - 90 - len(part))
            connection.send_in_segments(head + b"y" * 90, part, rest, gap=0.02)
            expected = b"y" * 90 + part
            answer = connection.read_answer()
            assert answer.body[: len(expected)] == expected
            assert len(answer.body) == 100_000
            assert_in_sync(connection)
