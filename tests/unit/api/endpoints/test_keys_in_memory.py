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
    "quotes": (MODELS, b'Authorization: Bearer "KEY"'),
    "the scheme twice": (MODELS, b"Authorization: Bearer Bearer KEY"),
    "beside a wrong key": (MODELS, b"Authorization: Bearer x\r\nX-Api-Key: KEY"),
}
# SECRET is replaced by a string that does not look like one of our keys, because other
# services' keys may have any form.
OTHER_SECRETS = {
    "the usual form": (MODELS, b"Authorization: Bearer SECRET"),
    "another scheme": (MODELS, b"Authorization: Basic SECRET"),
    "no scheme": (MODELS, b"Authorization: SECRET"),
    "a proxy's login": (MODELS, b"Proxy-Authorization: Basic SECRET"),
    "x-api-key": (MODELS, b"X-API-Key: SECRET"),
    "api-key": (MODELS, b"api-key: SECRET"),
    "x-goog-api-key": (MODELS, b"x-goog-api-key: SECRET"),
    "beside a key": (MODELS, b"Authorization: Bearer x\r\nx-api-key: SECRET"),
    "a cookie": (MODELS, b"Cookie: session=SECRET"),
    "a parameter": (b"GET /v1/models?key=SECRET", b"Accept: */*"),
    "a parameter of another path": (b"GET /v1beta/models?key=SECRET", b"Accept: */*"),
    "Google": (b"GET /AIzaSECRET/models", b"Accept: */*"),
    "OpenAI": (b"GET /v1/sk-proj-SECRET", b"User-Agent: sk-proj-SECRET"),
}
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
        secret = reversed_secret[::-1]
        connection.data_received(raw.replace(b"KEY", secret).replace(b"SECRET", secret))
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


def places_of_kept_secrets(kind: str) -> list[str]:
    """Send a secret in each place; return the places whose secrets stay in memory."""
    heads = OTHER_SECRETS if kind == "of another service" else HEADS
    # Reversed, so that the test itself keeps no secret in memory.
    sent = {new_secret(kind)[::-1]: place for place in heads}
    held = [b"zebra" + b"0" * 32]
    worker = Worker()
    with worker.loop:
        for reversed_secret, place in sent.items():
            if kind == "of an account":
                worker._add_key(keys.digest(reversed_secret[::-1]))
            send(worker, heads[place], reversed_secret)
        found = reversed_in_memory()
    searched = {worker.key.encode()[::-1], held[0][::-1]}
    assert searched <= found, "the search works: the test holds these"
    return [sent[secret] for secret in found & sent.keys()]


@pytest.mark.parametrize("kind", ["of an account", "unknown", "of another service"])
def test_no_key_stays_in_memory(new_process: ProcessPoolExecutor, kind: str) -> None:
    assert new_process.submit(places_of_kept_secrets, kind).result() == []
