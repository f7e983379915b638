"""When a connection is kept or closed, and how that is shown (RFC 9112 §9.3, §9.6).

A client that has closed its sending half gets its answers.
"""

import socket
import struct
import time

import pytest

from readback import keys
from readback.api.data.keyring import Keyring
from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from tests.support.listener import Listener, api_without_database, listening
from tests.support.load import models
from tests.support.raw_requests import (
    GOOD,
    ask,
    assert_in_sync,
    post,
    post_body,
    post_chunks,
    statuses,
)
from tests.support.tables import each
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Endpoint

CLOSING = {
    "close": b"Connection: close",
    "in capitals": b"connection: CLOSE",
    "with white space": b"Connection: \t close \t",
    "first of a list": b"Connection: close, TE",
    "among empty members": b"Connection: ,,close,,",
    "in the second line": b"Connection: keep-alive\r\nConnection: close",
    "after keep-alive": b"Connection: keep-alive, close",
    "before keep-alive": b"Connection: close, keep-alive",
    "with an upgrade": b"Connection: upgrade, close\r\nUpgrade: h2c",
}
LASTING = {
    "no such field": b"X: y",
    "keep-alive": b"Connection: keep-alive",
    "a word that begins with close": b"Connection: closed",
    "quotes": b'Connection: "close"',
    "an empty value": b"Connection:",
    "the word in another field": b"X-Connection: close",
}


@each("line", CLOSING)
@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_close_is_honoured_and_announced(
    echo: Endpoint, line: bytes, version: bytes
) -> None:
    raw = post_body(b"ab", line).replace(b"HTTP/1.1", version)
    with echo.connect() as connection:
        connection.send(raw + GOOD + b"garbage")
        answer = connection.read_answer()
        assert (answer.status, answer.body) == (200, b"ab")
        assert answer.header("Connection") == "close"
        assert connection.rest() == b""


@each("line", LASTING)
def test_a_connection_is_kept_otherwise(echo: Endpoint, line: bytes) -> None:
    with echo.connect() as connection:
        connection.send(post(line))
        assert connection.read_answer().header("Connection") is None
        assert_in_sync(connection)


def test_http_1_0_is_closed_unless_it_asks_for_keep_alive(echo: Endpoint) -> None:
    raw = b"GET / HTTP/1.0\r\n\r\n"
    [answer] = ask(echo, raw + raw)
    assert (answer.status, answer.header("Connection")) == (200, "close")
    with echo.connect() as connection:
        for value in (b"keep-alive", b"Keep-Alive", b"x, keep-alive"):
            connection.send(b"GET / HTTP/1.0\r\nConnection: %b\r\n\r\n" % value)
            assert connection.read_answer().header("Connection") == "keep-alive"
        assert_in_sync(connection)


def test_after_its_last_answer_the_server_reads_what_the_client_still_sends() -> None:
    # RFC 9112 §9.6: otherwise the kernel may discard the answer before the client has
    # read it. Whatever the client sends after its last request is not processed as a
    # request (§9.3).
    with listening(own_time=True) as listener:
        for last in (b"garbage\r\n\r\n", post(b"Connection: close") + b"x"):
            with listener.endpoint.connect() as connection:
                listener.read_from(connection, last)
                assert connection.read_answer().header("Connection") == "close"
                assert connection.rest() == b""
                listener.read_from(connection, GOOD * 1000)
                assert listener.handler.answered == last.startswith(b"POST")
            wait_until(lambda: not listener.registry.connections, "it is closed")


def test_a_later_minor_version_is_processed_as_1_1(echo: Endpoint) -> None:
    # RFC 9110 §2.5.
    raw = GOOD + post_chunks(b"2\r\nab\r\n0\r\n\r\n") + post(b"Connection: close")
    for version in (b"HTTP/1.2", b"HTTP/1.9"):
        answers = ask(echo, raw.replace(b"HTTP/1.1", version))
        assert [answer.body for answer in answers] == [b"hello\n", b"ab", b""]
        options = [answer.header("Connection") for answer in answers]
        assert options == [None, None, "close"]
        assert all(answer.head.startswith(b"HTTP/1.1 ") for answer in answers)
        [refused] = ask(echo, b"GET / %b\r\n\r\n" % version)
        detail = refused.header("X-Error-Detail")
        assert detail == "There must be exactly one Host header."


CUT_OFF = [
    *[b"G", b"\r", GOOD[:-1], post_body(b"abcdef")[:-1], post_chunks(b"")],
    *[post_chunks(b"2\r\nab\r\n"), post_chunks(b"2\r\nab\r\n0\r\n\r\n")[:-1]],
    post(b"Content-Length: 5", b"Expect: x"),
]


def test_an_incomplete_request_is_not_answered() -> None:
    # A separate listener, because the shared one may still be answering other tests.
    with listening() as listener:
        for number, raw in enumerate(CUT_OFF, start=1):
            assert ask(listener.endpoint, raw) == []
            assert statuses(ask(listener.endpoint, GOOD + raw)) == [200]
            assert listener.handler.answered == number


def test_a_client_that_resets_its_connection_leaves_nothing_behind(
    echo_listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    # CVE-2024-49769: clients that left early kept waitress in a busy loop.
    for raw in (b"", GOOD[:10], GOOD, GOOD * 1000, post_body(b"x" * 60_000) * 50):
        for _ in range(10):
            endpoint = echo_listener.endpoint
            sock = socket.create_connection((endpoint.host, endpoint.port))
            reset = struct.pack("ii", 1, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            sock.settimeout(PATIENCE)
            sock.send(raw)
            sock.close()
    wait_until(
        lambda: not echo_listener.registry.connections, "all connections are gone"
    )
    assert caplog.text == ""


def test_a_client_that_leaves_while_its_key_is_looked_up_is_forgotten() -> None:
    limiter, asked = Limiter(0, 1), []
    keyring = Keyring(limiter, asked.append, 900)
    api = api_without_database(keyring, limiter, Counters(1).row(0))
    with listening(api) as listener:
        with listener.endpoint.connect() as connection:
            connection.send(models(listener.endpoint, keys.mint()))
            wait_until(lambda: asked, "the key is looked up")
        # The client may only have stopped sending; writing to it shows that it is gone.
        later = time.monotonic() + 60
        listener.loop.call_soon_threadsafe(keyring.tick, later, time.time())
        wait_until(lambda: not listener.registry.connections, "it is gone")
