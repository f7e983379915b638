"""A head that is recognised by its bytes is treated like one that is parsed.

It must be exactly between messages. That any difference is noticed, and every key is
checked, is in tests/unit.
"""

import pytest

from tests.support.api import Api, assert_echo, assert_refused, draft
from tests.support.raw_requests import (
    GOOD,
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


def test_a_repeated_request_may_lack_a_byte_or_be_followed_by_one(
    echo: Endpoint,
) -> None:
    raw = post_body(BODY)
    with warmed(raw, echo) as connection:
        connection.send_in_segments(raw[:-1], b"z" + GOOD[:1], gap=0.01)
        assert connection.read_answer().body == BODY[:-1] + b"z"
        connection.send(GOOD[1:])
        assert connection.read_answer().body == b"hello\n"
        connection.send(raw + b"\x00")
        assert connection.read_answer().body == BODY
        assert connection.read_answer().status == 400


@pytest.mark.parametrize(
    "line",
    [b"Connection: close", b"Expect: 100-continue", b"Trailer: X", b"Upgrade: h2c"],
)
def test_a_head_with_connection_options_is_parsed_again(
    echo: Endpoint, line: bytes
) -> None:
    raw = post_body(BODY, line)
    answers = ask(echo, raw + raw)
    closes = line == b"Connection: close"
    assert statuses(answers) == [200] * (1 if closes else 2)
    if not closes:
        with warmed(raw, echo) as connection:
            connection.send(raw[: -len(BODY)])
            if line.startswith(b"Expect"):
                assert connection.read_answer().status == 100
            connection.send(BODY)
            assert connection.read_answer().body == BODY


def test_a_repeated_head_request_has_no_body_either(echo: Endpoint, api: Api) -> None:
    # RFC 9110 §9.3.2: a body would be read as the beginning of the next answer.
    raw = GOOD.replace(b"GET", b"HEAD")
    with echo.connect() as connection:
        for _ in range(4):
            connection.send(raw)
            assert connection.read_answer(bodiless=True).status == 200
        assert_in_sync(connection)
    for target in ("/v1/models", "/v1/x"):
        raw = request("HEAD", target, api.usual_fields)
        with api.endpoint.connect() as connection:
            for _ in range(4):
                connection.send(raw)
                answer = connection.read_answer(bodiless=True)
                assert_refused(answer, "not_found", bodiless=True)
            connection.send(api.chat_bytes(draft("in sync")))
            assert_echo(connection.read_answer(), "in sync")


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
