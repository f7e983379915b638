"""The strict check covers all workers, and the status says what does not work."""

import json
import time

import pytest
from tests.support.work import head_of

from readback.api.data.health import Health
from readback.api.data.keyring import Keyring
from readback.api.ops import STRICT_SECONDS, Ops
from readback.api.shared.counters import Counters
from readback.api.shared.limiter import Limiter
from readback.config import Config
from readback.http.meaning import Meaning
from readback.processes.lifecycle import Lifecycle

NO_ORIGIN = None  # the ops listener treats all clients alike
LONG_AGO = STRICT_SECONDS + 1


@pytest.fixture
def counters():
    return Counters(workers=2)


@pytest.fixture
def ops(counters):
    """The ops listener of the first worker, which has not reached the database yet."""
    keyring = Keyring(Limiter(1, 1), lambda digest: None, 900.0)
    return Ops(counters, Health(counters.row(0)), keyring, Lifecycle(), Config())


def confirm(counters: Counters, worker: int, seconds_ago: float = 0.0) -> None:
    at = int((time.monotonic() - seconds_ago) * 1000)
    counters.row(worker).set("keys_confirmed", at)


def answer(ops: Ops, path: bytes) -> bytes:
    head = head_of(b"GET", path, [(b"host", b"localhost")])
    return ops.begin((Meaning(head, head), b"", b"", 0), NO_ORIGIN)


def status(ops: Ops, path: bytes) -> bytes:
    return answer(ops, path).split(b" ", 2)[1]


def shown_status(ops: Ops) -> dict[str, object]:
    return json.loads(answer(ops, b"/status").partition(b"\r\n\r\n")[2])


def test_a_replica_is_strictly_ready_if_every_worker_has_the_database(ops, counters):
    assert status(ops, b"/readyz/strict") == b"503"
    ops._keyring.confirmed_at = time.monotonic()
    confirm(counters, 0)
    confirm(counters, 1)
    assert status(ops, b"/readyz/strict") == b"200"
    confirm(counters, 1, LONG_AGO)
    assert status(ops, b"/readyz/strict") == b"503"
    assert status(ops, b"/readyz") == b"200"
    counters.row(1).retire()  # the worker has ended
    assert status(ops, b"/readyz/strict") == b"200"


def test_the_status_says_what_does_not_work(ops):
    ops._health.reading.failed("a reason")
    reason = "cannot read keys from the database: a reason"
    shown = {"status": "not ready", "errors": [reason], "warnings": []}
    assert shown_status(ops) == shown
    ops._keyring.confirmed_at = time.monotonic()
    assert shown_status(ops) == shown | {"status": "ready"}
    ops._lifecycle.stop()
    assert shown_status(ops)["status"] == "stopping"
    # Asking for the status does not count as a check by a load balancer.
    assert not ops._lifecycle.is_watched
