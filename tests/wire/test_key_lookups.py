"""A request that waits for its key to be looked up, with the real parts of a worker.

Only the database is missing, so that no look-up is answered unless the test does so.
"""

import time
from collections.abc import Iterator

import pytest

from readback import keys
from readback.api.data import keyring as keyring_module
from readback.api.data.keyring import Keyring
from readback.api.shared.limiter import Limiter
from readback.api.shared.memory import Counters
from tests.support.listener import Listener, api_without_database, listening
from tests.support.raw_requests import code_of
from tests.support.waiting import wait_until
from tests.support.wire import Connection

REQUEST = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n\r\n"


@pytest.fixture
def asked() -> list[bytes]:
    """The digests that have been looked up."""
    return []


@pytest.fixture
def keyring(asked: list[bytes]) -> Keyring:
    return Keyring(Limiter(0, 1), asked.append, 900)


@pytest.fixture
def listener(keyring: Keyring) -> Iterator[Listener]:
    row, limiter = Counters(1).row(0), Limiter(1_000_000, 1_000_000)
    with listening(api_without_database(keyring, limiter, row)) as listener:
        yield listener


def ask_with_a_new_key(connection: Connection) -> None:
    connection.send(REQUEST % keys.mint().encode())


def test_a_look_up_beyond_the_limit_is_told_to_retry(
    listener: Listener, asked: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_module, "MAX_WAITING", 1)
    with listener.endpoint.connect() as first, listener.endpoint.connect() as second:
        ask_with_a_new_key(first)
        wait_until(lambda: len(asked) == 1, "the key is looked up")
        for _ in range(2):
            ask_with_a_new_key(second)
            answer = second.read_answer()
            assert (answer.status, code_of(answer)) == (503, "unavailable")


def test_a_client_that_leaves_during_a_look_up_is_forgotten(
    listener: Listener, keyring: Keyring, asked: list[bytes]
) -> None:
    with listener.endpoint.connect() as connection:
        ask_with_a_new_key(connection)
        wait_until(lambda: len(asked) == 1, "the key is looked up")
    # The client may only have stopped sending; the answer shows that it is gone.
    later = time.monotonic() + 60
    listener.loop.call_soon_threadsafe(keyring.tick, later, time.time())
    wait_until(lambda: not listener.registry.connections, "the connection is gone")
