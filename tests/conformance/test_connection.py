"""Many requests on one connection, and one request in many pieces.

However the bytes are split, each request gets its own answer, in order.
"""

import pytest

from tests.conformance.conftest import KeyMaker
from tests.support.api import (
    CHAT,
    MODELS,
    Api,
    assert_echo,
    assert_refused,
    assert_success,
    compact,
    draft,
)
from tests.support.wire import request


def test_a_connection_serves_one_request_after_the_other(api: Api) -> None:
    with api.endpoint.connect() as connection:
        for text in ("one", "два", "three", "три" * 500, "x"):
            connection.send(api.chat_bytes(draft(text)))
            assert_echo(connection.read_answer(), text)
            connection.send(request("GET", MODELS, api.usual_fields))
            assert_success(connection.read_answer())


def test_pipelined_requests_are_answered_in_order(api: Api) -> None:
    texts = [f"number {n}" for n in range(50)]
    with api.endpoint.connect() as connection:
        connection.send(b"".join(api.chat_bytes(draft(text)) for text in texts))
        for text in texts:
            assert_echo(connection.read_answer(), text)


def test_a_refusal_in_a_pipeline_is_answered_in_its_turn(api: Api) -> None:
    with api.endpoint.connect() as connection:
        bad = api.chat_bytes(draft("bad", stream=True))
        connection.send(api.chat_bytes(draft("a")) + bad + api.chat_bytes(draft("b")))
        assert_echo(connection.read_answer(), "a")
        assert_refused(connection.read_answer(), "stream_unavailable")
        assert_echo(connection.read_answer(), "b")


def test_a_good_request_before_a_malformed_one_is_still_answered(api: Api) -> None:
    with api.endpoint.connect() as connection:
        connection.send(request("GET", MODELS, api.usual_fields) + b"garbage\r\n\r\n")
        assert_success(connection.read_answer())
        assert_refused(connection.read_answer(), "malformed_request")
        assert connection.rest() == b""


def test_a_request_may_arrive_byte_by_byte(api: Api) -> None:
    with api.endpoint.connect() as connection:
        for byte in api.chat_bytes(draft("дом")):
            connection.send(bytes([byte]))
        assert_echo(connection.read_answer(), "дом")


def test_a_request_may_be_split_anywhere(api: Api) -> None:
    raw = api.chat_bytes(draft("дом"))
    with api.endpoint.connect() as connection:
        for place in range(1, len(raw)):
            connection.send(raw[:place])
            connection.send(raw[place:])
            assert_echo(connection.read_answer(), "дом")


def test_two_requests_may_be_split_anywhere(api: Api) -> None:
    first, second = api.chat_bytes(draft("one")), api.chat_bytes(draft("two"))
    raw = first + second
    with api.endpoint.connect() as connection:
        for place in range(len(first) - 20, len(first) + 20):
            connection.send(raw[:place])
            connection.send(raw[place:])
            assert_echo(connection.read_answer(), "one")
            assert_echo(connection.read_answer(), "two")


def test_an_empty_line_before_a_request_is_ignored(api: Api) -> None:
    # RFC 9112 §2.2: a server should ignore at least one.
    assert_success(api.send(b"\r\n" + request("GET", MODELS, api.usual_fields)))


@pytest.mark.parametrize("value", ["close", "Close", "CLOSE", "x, close", "close, TE"])
def test_connection_close_is_honoured(api: Api, value: str) -> None:
    raw = request("GET", MODELS, [*api.usual_fields, ("Connection", value)])
    answer = api.send(raw + raw)
    assert_success(answer)
    assert answer.header("Connection") == "close"


def test_http_1_0_is_answered_and_closed(api: Api) -> None:
    raw = request("GET", MODELS, [api.bearer]).replace(b"HTTP/1.1", b"HTTP/1.0")
    with api.endpoint.connect() as connection:
        connection.send(raw)
        assert_success(connection.read_answer())
        assert connection.rest() == b""


def test_http_1_0_may_ask_to_keep_the_connection(api: Api) -> None:
    fields = [*api.usual_fields, ("Connection", "keep-alive")]
    raw = request("GET", MODELS, fields).replace(b"HTTP/1.1", b"HTTP/1.0")
    with api.endpoint.connect() as connection:
        for _ in range(2):
            connection.send(raw)
            answer = connection.read_answer()
            assert_success(answer)
            assert (answer.header("Connection") or "").lower() == "keep-alive"


def test_expect_100_continue_is_answered_once(api: Api) -> None:
    body = compact(draft("x"))
    raw = api.chat_bytes(body, extra=[("Expect", "100-continue")])
    with api.endpoint.connect() as connection:
        connection.send(raw.removesuffix(body))
        interim = connection.read_answer()
        assert (interim.status, interim.reason) == (100, "Continue")
        connection.send(body)
        assert_echo(connection.read_answer(), "x")


def test_expect_100_continue_is_answered_with_a_refusal(api: Api) -> None:
    expect = ("Expect", "100-continue")
    media, length = ("Content-Type", "application/json"), ("Content-Length", "32769")
    fields = [*api.usual_fields, media, length, expect]
    assert_refused(api.ask("POST", CHAT, fields), "request_too_large")
    assert_refused(api.ask("POST", CHAT, [api.host, length, expect]), "invalid_key")


@pytest.mark.parametrize("protocol", ["h2c", "websocket", "TLS/1.0"])
def test_an_upgrade_is_ignored_and_the_body_is_read(api: Api, protocol: str) -> None:
    upgrade = [("Connection", "Upgrade"), ("Upgrade", protocol)]
    assert_echo(api.chat(draft("x"), extra=upgrade), "x")
    assert_success(api.ask("GET", MODELS, [*api.usual_fields, *upgrade]))


def test_an_unfinished_request_gets_no_echo(api: Api) -> None:
    raw = api.chat_bytes(draft("x"))
    for cut in (1, 20, len(raw) - 30):
        with api.endpoint.connect() as connection:
            connection.send(raw[:-cut])
            connection.finish_sending()
            assert b" 200 " not in connection.rest()


def test_a_client_that_stops_sending_after_its_request_is_answered(api: Api) -> None:
    with api.endpoint.connect() as connection:
        connection.send(api.chat_bytes(draft("x")))
        connection.finish_sending()
        assert_echo(connection.read_answer(), "x")
        assert connection.rest() == b""


def test_pipelined_requests_with_a_new_key_are_answered_in_order(
    api: Api, new_key: KeyMaker
) -> None:
    # The server has not seen the key yet, and the client has finished sending.
    fresh, texts = api.with_key(new_key()), ["one", "two", "three"]
    with api.endpoint.connect() as connection:
        connection.send(b"".join(fresh.chat_bytes(draft(text)) for text in texts))
        connection.finish_sending()
        for text in texts:
            assert_echo(connection.read_answer(), text)
        assert connection.rest() == b""
