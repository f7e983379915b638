"""Many requests on one connection, and one request in many pieces.

However the bytes are cut and joined, each request gets its own answer, in order.
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
            connection.send(request("GET", MODELS, api.known))
            assert_success(connection.read_answer())


def test_requests_sent_at_once_are_answered_in_order(api: Api) -> None:
    texts = [f"number {n}" for n in range(50)]
    with api.endpoint.connect() as connection:
        connection.send(b"".join(api.chat_bytes(draft(text)) for text in texts))
        for text in texts:
            assert_echo(connection.read_answer(), text)


def test_a_refusal_between_two_requests_sent_at_once_keeps_its_place(api: Api) -> None:
    with api.endpoint.connect() as connection:
        bad = api.chat_bytes(draft("bad", stream=True))
        connection.send(api.chat_bytes(draft("a")) + bad + api.chat_bytes(draft("b")))
        assert_echo(connection.read_answer(), "a")
        assert_refused(connection.read_answer(), "stream_unavailable")
        assert_echo(connection.read_answer(), "b")


def test_a_good_request_before_a_malformed_one_is_still_answered(api: Api) -> None:
    with api.endpoint.connect() as connection:
        connection.send(request("GET", MODELS, api.known) + b"garbage\r\n\r\n")
        assert_success(connection.read_answer())
        assert_refused(connection.read_answer(), "malformed_request")
        assert connection.rest() == b""


def test_a_request_may_come_byte_by_byte(api: Api) -> None:
    with api.endpoint.connect() as connection:
        for byte in api.chat_bytes(draft("дом")):
            connection.send(bytes([byte]))
        assert_echo(connection.read_answer(), "дом")


def test_a_request_may_be_cut_anywhere(api: Api) -> None:
    raw = api.chat_bytes(draft("дом"))
    with api.endpoint.connect() as connection:
        for place in range(1, len(raw)):
            connection.send(raw[:place])
            connection.send(raw[place:])
            assert_echo(connection.read_answer(), "дом")


def test_two_requests_may_be_cut_anywhere(api: Api) -> None:
    first, second = api.chat_bytes(draft("one")), api.chat_bytes(draft("two"))
    raw = first + second
    with api.endpoint.connect() as connection:
        for place in range(len(first) - 20, len(first) + 20):
            connection.send(raw[:place])
            connection.send(raw[place:])
            assert_echo(connection.read_answer(), "one")
            assert_echo(connection.read_answer(), "two")


def test_an_empty_line_before_a_request_is_passed_over(api: Api) -> None:
    # RFC 9112 §2.2: at least one must be.
    assert_success(api.send(b"\r\n" + request("GET", MODELS, api.known)))


@pytest.mark.parametrize("value", ["close", "Close", "CLOSE", "x, close", "close, TE"])
def test_a_client_that_wants_to_close_is_heard(api: Api, value: str) -> None:
    raw = request("GET", MODELS, [*api.known, ("Connection", value)])
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
    fields = [*api.known, ("Connection", "keep-alive")]
    raw = request("GET", MODELS, fields).replace(b"HTTP/1.1", b"HTTP/1.0")
    with api.endpoint.connect() as connection:
        for _ in range(2):
            connection.send(raw)
            answer = connection.read_answer()
            assert_success(answer)
            assert (answer.header("Connection") or "").lower() == "keep-alive"


def test_a_client_that_waits_for_leave_gets_it_once(api: Api) -> None:
    body = compact(draft("x"))
    raw = api.chat_bytes(body, extra=[("Expect", "100-continue")])
    with api.endpoint.connect() as connection:
        connection.send(raw.removesuffix(body))
        interim = connection.read_answer()
        assert (interim.status, interim.reason) == (100, "Continue")
        connection.send(body)
        assert_echo(connection.read_answer(), "x")


def test_a_client_that_waits_for_leave_in_vain_gets_the_refusal(api: Api) -> None:
    waits = ("Expect", "100-continue")
    media, length = ("Content-Type", "application/json"), ("Content-Length", "32769")
    fields = [*api.known, media, length, waits]
    assert_refused(api.ask("POST", CHAT, fields), "request_too_large")
    assert_refused(api.ask("POST", CHAT, [api.host, length, waits]), "invalid_key")


@pytest.mark.parametrize("protocol", ["h2c", "websocket", "TLS/1.0"])
def test_an_upgrade_is_passed_over_and_the_body_arrives(
    api: Api, protocol: str
) -> None:
    upgrade = [("Connection", "Upgrade"), ("Upgrade", protocol)]
    assert_echo(api.chat(draft("x"), extra=upgrade), "x")
    assert_success(api.ask("GET", MODELS, [*api.known, *upgrade]))


def test_a_client_that_stops_in_the_middle_gets_no_echo(api: Api) -> None:
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


def test_a_key_that_must_be_looked_up_changes_nothing_of_this(
    api: Api, new_key: KeyMaker
) -> None:
    # The server has never met the key, and the client has already said all it will.
    fresh, texts = api.with_key(new_key()), ["one", "two", "three"]
    with api.endpoint.connect() as connection:
        connection.send(b"".join(fresh.chat_bytes(draft(text)) for text in texts))
        connection.finish_sending()
        for text in texts:
            assert_echo(connection.read_answer(), text)
        assert connection.rest() == b""
