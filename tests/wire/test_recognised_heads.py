"""A head that is recognised by its bytes is treated like one that is parsed.

It must be exactly between messages. That any difference is noticed, and every key is
checked, is in tests/unit.
"""

import pytest

from tests.support.api import Api
from tests.support.raw_requests import (
    ask,
    assert_in_sync,
    post,
    post_body,
    statuses,
)
from tests.support.server import Server
from tests.support.wire import Endpoint, request

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


@pytest.mark.parametrize("target", ["/v1/models", "/healthz", "/x"])
def test_the_same_head_is_answered_by_each_listener_in_its_own_way(
    api: Api, server: Server, target: str
) -> None:
    ops = Endpoint.of(server.ops_url)
    raw = request("GET", target, [("Host", "x"), api.bearer])
    expected = {"/v1/models": (200, 404), "/healthz": (404, 200)}.get(
        target, (404, 404)
    )
    for _ in range(3):
        for place, status in zip((api.endpoint, ops), expected, strict=True):
            assert statuses(ask(place, raw + raw)) == [status, status]
