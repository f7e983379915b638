"""An upgrade may be ignored (RFC 9110 §7.8), but the body must be read.

The HTTP client of the JDK offers HTTP/2 in every request over plain HTTP; so do others.
"""

import pytest

from tests.support.api import (
    CHAT,
    Api,
    assert_echo,
    assert_success,
    compact,
    draft,
)
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_in_sync,
    pieces_of,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.tables import each
from tests.support.wire import Endpoint, chunked, request

JAVA = [
    ("Connection", "Upgrade, HTTP2-Settings"),
    ("Host", "localhost"),
    ("HTTP2-Settings", "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"),
    ("Upgrade", "h2c"),
    ("User-Agent", "Java-http-client/17.0.15"),
]
TEXT = "дом\n🏠"

UPGRADES = {
    "h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: A",
    "WebSocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    "high bytes": b"Connection: upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Protocol: \xff\xfe",
    "TLS": b"Connection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1",
    "twice": b"Connection: upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket",
    "in capitals": b"CONNECTION: UPGRADE\r\nUPGRADE: H2C",
    "nothing to upgrade to": b"Connection: Upgrade\r\nUpgrade:",
    "without Upgrade": b"Connection: Upgrade",
    "without Connection": b"Upgrade: h2c",
}


@each("lines", UPGRADES)
@pytest.mark.parametrize("size", [1_000_000, 1, 40])
def test_an_upgrade_is_ignored(echo: Endpoint, lines: bytes, size: int) -> None:
    chunks = b"2\r\nab\r\n0\r\n\r\n"
    raw = (
        post_body(b"ab", lines)
        + post_chunks(chunks, lines)
        + post_body(b"", lines)
        + GOOD
    )
    answers = ask(echo, *pieces_of(raw, size))
    assert [answer.body for answer in answers] == [b"ab", b"ab", b"", b"hello\n"]
    assert not any(answer.header("Upgrade") for answer in answers)


@each("lines", UPGRADES)
@pytest.mark.parametrize("method", [b"GET", b"BREW", b"OPTIONS"])
def test_an_upgrade_is_ignored_whatever_the_method(
    echo: Endpoint, lines: bytes, method: bytes
) -> None:
    raw = post_body(b"ab", lines).replace(b"POST", method, 1)
    assert statuses(ask(echo, raw + GOOD)) == [200, 200]


@pytest.mark.parametrize("cut", [None, 20, -1, 0])
@pytest.mark.parametrize("framing", ["Content-Length", "chunked"])
def test_a_post_of_the_java_client_is_answered_with_its_text(
    api: Api, framing: str, cut: int | None
) -> None:
    body = compact(draft(TEXT))
    length = ("Content-Length", str(len(body)))
    if framing == "chunked":
        length, body = ("Transfer-Encoding", "chunked"), chunked(body)
    fields = [*JAVA, length, api.bearer, ("Content-Type", "application/json")]
    raw = request("POST", CHAT, fields, body)
    # Not split, in the head, before the last byte, and between head and body.
    place = len(raw) if cut is None else cut or len(raw) - len(body)
    with api.endpoint.connect() as connection:
        for _ in range(3):
            connection.send(raw[:place])
            connection.send(raw[place:])
            assert_echo(connection.read_answer(), TEXT)
        connection.send(request("GET", "/v1/models", api.usual_fields))
        assert_success(connection.read_answer())


def test_a_body_that_looks_like_http_2_is_a_body(echo: Endpoint) -> None:
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    with echo.connect() as connection:
        connection.send(post_body(preface, UPGRADES["h2c"]))
        assert connection.read_answer().body == preface
        assert_in_sync(connection)
