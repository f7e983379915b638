"""No key stays in a worker's memory once the connection that sent it is closed.

A worker keeps digests. The key itself is searched for in everything that the garbage
collector tracks, so that no cache is missed. This happens in a separate process with
only the worker's imports, because the test process has imported all tests and their
packages.
"""

import gc
import re
import secrets
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from tests.support.memory import reachable_from
from tests.support.work import Worker

from readback import keys

MODELS, BEARER = b"GET /v1/models", b"Authorization: Bearer KEY"
# KEY is replaced by a key: ours, or one of another service, which may have any form.
FIELDS = [
    *[BEARER, BEARER + b"\r\n" + BEARER, b"Authorization:Bearer KEY"],
    *[b"authorization: Bearer KEY", b"AUTHORIZATION: Bearer KEY"],
    *[b"Authorization: bearer KEY", b"Authorization: KEY"],
    *[b"Authorization: Bearer  KEY", b"Authorization: Bearer KEY "],
    *[b"Authorization:\tBearer KEY", b"Authorization : Bearer KEY"],
    *[b"Authorization: Basic KEY", b"Proxy-Authorization: Basic KEY"],
    *[b'Authorization: Bearer "KEY"', b"Authorization: Bearer Bearer KEY"],
    *[b"X-Api-Key: KEY", b"api-key: KEY"],
    *[b"Authorization: Bearer x\r\nX-Api-Key: KEY", b"x-goog-api-key: KEY"],
    *[b"Cookie: a=KEY; b=c", b"User-Agent: sk-proj-KEY"],
]
REQUEST_LINES = [
    *[b"GET /v1/models?key=KEY", b"GET /v1beta/models?key=KEY", b"GET /KEY/v1/models"],
    *[b"GET /AIzaKEY/models", b"GET /v1/sk-proj-KEY", b"KEY /v1/models"],
]
HEADS = [
    *((MODELS, field) for field in FIELDS),
    *((line, b"Accept: */*") for line in REQUEST_LINES),
    (b"GET /v1/x", BEARER),
]
# Only keys that look like ours are recognized anywhere in a head.
HEADS_WITH_OUR_KEYS = [*HEADS, (MODELS, BEARER + b"\r\nUser-Agent: x KEY")]
SECRET = re.compile(rb"sk-echo-[0-9A-Za-z]{38}|zebra[0-9a-f]{32}")


@pytest.fixture(scope="module")
def new_process() -> Iterator[ProcessPoolExecutor]:
    """One process that all searches can share, because each has its own secrets."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


def send(worker: Worker, head: tuple[bytes, bytes], reversed_secret: bytes) -> None:
    raw = b"%b HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n" % head
    connection, _ = worker.connect()
    for _ in range(3):
        connection.data_received(raw.replace(b"KEY", reversed_secret[::-1]))
        worker.settle()
    connection.connection_lost(None)


def reversed_in_memory() -> set[bytes]:
    gc.collect()
    found: set[bytes] = set()
    for kept in reachable_from(gc.get_objects()):
        if isinstance(kept, str):
            kept = kept.encode(errors="replace")
        if isinstance(kept, bytes | bytearray):
            found.update(secret[::-1] for secret in SECRET.findall(kept))
    return found


def new_secret(kind: str) -> bytes:
    if kind == "of another service":
        return b"zebra" + secrets.token_hex(16).encode()
    return keys.mint().encode()


def heads_of_kept_secrets(kind: str) -> list[tuple[bytes, bytes]]:
    """Send a secret in each head; return the heads whose secrets stay in memory."""
    heads = HEADS if kind == "of another service" else HEADS_WITH_OUR_KEYS
    # Reversed, so that the test itself keeps no secret in memory.
    sent = {new_secret(kind)[::-1]: head for head in heads}
    held = [b"zebra" + b"0" * 32]
    worker = Worker()
    with worker.loop:
        for reversed_secret, head in sent.items():
            if kind == "of an account":
                worker._add_key(keys.digest(reversed_secret[::-1]))
            send(worker, head, reversed_secret)
        found = reversed_in_memory()
    searched = {worker.key.encode()[::-1], held[0][::-1]}
    assert searched <= found, "the search works: the test holds these"
    return [sent[secret] for secret in found & sent.keys()]


@pytest.mark.parametrize("kind", ["of an account", "unknown", "of another service"])
def test_no_key_stays_in_memory(new_process: ProcessPoolExecutor, kind: str) -> None:
    assert new_process.submit(heads_of_kept_secrets, kind).result() == []
