"""A client that has closed its sending half gets its answers (RFC 9112 §9.6, §8)."""

import socket
import struct
import time

import pytest

from readback import keys
from readback.api.data.keyring import Keyring
from readback.api.shared.limiter import Limiter
from readback.api.shared.memory import Counters
from tests.support.listener import Listener, api_without_database, listening
from tests.support.load import models
from tests.support.raw_requests import GOOD, ask, post, post_body, post_chunks, statuses
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Endpoint

CUT_OFF = [
    b"G",
    GOOD[:-1],
    GOOD[:-2],
    b"\r",
    post_body(b"abcdef")[:-1],
    post_body(b"abcdef")[:-6],
    post_chunks(b"2\r\nab\r\n0\r\n\r\n")[:-1],
    post_chunks(b"2\r\nab\r\n0\r\n\r\n")[:-2],
    post_chunks(b"2\r\nab\r\n")[:-2],
    post_chunks(b"2\r\na"),
    post_chunks(b""),
    post(b"Content-Length: 5", b"Expect: x"),
]


@pytest.mark.parametrize("number", [1, 2, 30])
def test_complete_requests_are_answered(echo: Endpoint, number: int) -> None:
    assert statuses(ask(echo, GOOD * number)) == [200] * number
    assert statuses(ask(echo, post_body(b"x" * 50_000) * number)) == [200] * number


@pytest.mark.parametrize("raw", CUT_OFF, ids=range(len(CUT_OFF)))
def test_an_incomplete_request_is_not_answered(raw: bytes) -> None:
    # Not the shared one, which may still be answering requests of an earlier test.
    with listening() as listener:
        assert ask(listener.endpoint, raw) == []
        assert statuses(ask(listener.endpoint, GOOD + raw)) == [200]
        assert listener.handler.answered == 1


def test_a_client_that_resets_its_connection_leaves_nothing_behind(
    echo_listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    # CVE-2024-49769: a busy loop if the client left before its first answer.
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
        lambda: not echo_listener.registry.connections,
        "all connections are gone",
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
        # It may only have stopped sending; the answer shows that it is gone.
        later = time.monotonic() + 60
        listener.loop.call_soon_threadsafe(keyring.tick, later, time.time())
        wait_until(lambda: not listener.registry.connections, "it is gone")
