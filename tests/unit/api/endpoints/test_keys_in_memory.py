"""No key stays in the memory of a worker after its connection is closed.

A worker keeps digests. The key itself is looked for in everything that the garbage
collector knows of, so that no cache is forgotten.
"""

import asyncio
import gc
import re
from collections.abc import Iterator

import pytest
from tests.support.memory import reachable_from
from tests.support.work import Worker

from readback import keys

MODELS = b"GET /v1/models"
# KEY is replaced by a key.
HEADS = {
    "the usual form": (MODELS, b"Authorization: Bearer KEY"),
    "another path": (b"GET /v1/x", b"Authorization: Bearer KEY"),
    "a small letter": (MODELS, b"authorization: Bearer KEY"),
    "capitals": (MODELS, b"AUTHORIZATION: Bearer KEY"),
    "a scheme in small letters": (MODELS, b"Authorization: bearer KEY"),
    "no space": (MODELS, b"Authorization:Bearer KEY"),
    "two spaces": (MODELS, b"Authorization: Bearer  KEY"),
    "a space after it": (MODELS, b"Authorization: Bearer KEY "),
    "a tab": (MODELS, b"Authorization:\tBearer KEY"),
    "another scheme": (MODELS, b"Authorization: Basic KEY"),
    "no scheme": (MODELS, b"Authorization: KEY"),
    "twice": (MODELS, b"Authorization: Bearer KEY\r\nAuthorization: Bearer KEY"),
    "another header": (MODELS, b"X-Api-Key: KEY"),
    "a cookie": (MODELS, b"Cookie: a=KEY; b=c"),
    "the URL": (b"GET /v1/models?key=KEY", b"Accept: */*"),
    "the path": (b"GET /KEY/v1/models", b"Accept: */*"),
    "the program": (MODELS, b"Authorization: Bearer KEY\r\nUser-Agent: x KEY"),
    "the method": (b"KEY /v1/models", b"Accept: */*"),
    "a malformed head": (MODELS, b"Authorization : Bearer KEY"),
}
KEY = re.compile(rb"sk-echo-[0-9A-Za-z]{38}")


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    asyncio._set_running_loop(worker.loop)
    yield worker
    asyncio._set_running_loop(None)


def send_with_key(worker: Worker, place: str, reversed_key: bytes) -> None:
    raw = b"%b HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n" % HEADS[place]
    connection, _ = worker.connect()
    for _ in range(3):
        connection.data_received(raw.replace(b"KEY", reversed_key[::-1]))
        worker.settle()
    connection.connection_lost(None)


def reversed_keys_in_memory() -> set[bytes]:
    gc.collect()
    found: set[bytes] = set()
    for one in reachable_from(gc.get_objects()):
        if isinstance(one, str) and "sk-echo-" in one:
            one = one.encode(errors="replace")
        if isinstance(one, bytes | bytearray) and b"sk-echo-" in one:
            found.update(key[::-1] for key in KEY.findall(one))
    return found


@pytest.mark.parametrize("exist", [True, False])
def test_no_key_stays_in_memory(worker: Worker, exist: bool) -> None:
    # Reversed, so that the test itself does not hold them.
    sent = {keys.mint().encode()[::-1]: place for place in HEADS}
    for reversed_key, place in sent.items():
        if exist:
            worker._add_key(keys.digest(reversed_key[::-1]))
        send_with_key(worker, place, reversed_key)
    kept = reversed_keys_in_memory() & sent.keys()
    assert [sent[key] for key in kept] == []
    assert worker.key.encode()[::-1] in reversed_keys_in_memory(), "the search works"
