"""Pipelined requests are answered in order (RFC 9112 §9.3.2)."""

import json
import threading

import pytest

from tests.support.api import Api, draft
from tests.support.raw_requests import (
    GOOD,
    ask,
    code_of,
    pieces_of,
    post,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.server import Server
from tests.support.wire import Endpoint, request


def test_answers_have_the_order_of_the_requests(echo: Endpoint) -> None:
    bodies = [b"number %d" % n for n in range(500)]
    raw = b"".join(
        post_body(body)
        if n % 2
        else post_chunks(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        for n, body in enumerate(bodies)
    )
    for size in (len(raw), 1000, 17):
        answers = ask(echo, *pieces_of(raw, size))
        assert [answer.body for answer in answers] == bodies


@pytest.mark.parametrize("bad", [b"bad\r\n\r\n", post(b"X : y"), b"\x16\x03\x01"])
def test_requests_before_a_bad_one_are_answered_and_none_after_it(
    echo: Endpoint, bad: bytes
) -> None:
    answers = ask(echo, GOOD + post_body(b"ab") + bad + GOOD + GOOD)
    assert statuses(answers) == [200, 200, 400]
    assert [answer.header("Connection") for answer in answers] == [None, None, "close"]


def test_requests_wait_in_order_for_a_key_that_is_looked_up(server: Server) -> None:
    # The first request waits for the database, and no other must overtake it.
    own = Api.of(server).with_key(server.new_key())
    raw = [own.chat_bytes(draft(f"{n}")) for n in range(20)]
    raw.insert(1, request("GET", "/nowhere", [own.host]))
    answers = ask(own.endpoint, b"".join(raw))
    assert statuses(answers) == [200, 404, *[200] * 19]
    texts = [
        json.loads(a.body)["choices"][0]["message"]["content"]
        for a in answers
        if a.status == 200
    ]
    assert texts == [f"{n}" for n in range(20)]


def test_a_key_of_one_request_is_not_the_key_of_the_next(api: Api) -> None:
    without_key = api.chat_bytes(draft("x")).replace(b"Authorization:", b"X-Nothing:")
    good = api.chat_bytes(draft("x"))
    answers = ask(api.endpoint, good + without_key + good + without_key + good)
    assert statuses(answers) == [200, 401, 200, 401, 200]
    assert [code_of(answers[n]) for n in (1, 3)] == ["invalid_key"] * 2


def test_very_many_pipelined_requests_are_all_answered(echo: Endpoint) -> None:
    number = 20_000

    def send() -> None:
        connection.send(GOOD * number)
        connection.finish_sending()

    with echo.connect() as connection:
        sender = threading.Thread(target=send)
        sender.start()
        received = connection.rest()
        sender.join()
    assert received.count(b"HTTP/1.1 200 OK\r\n") == number
    assert received.count(b"\r\n\r\nhello\n") == number
