"""The strict check, the status and the metrics: one answer for all workers."""

import json
import os
import re
import time

import pytest
from tests.support.promtool import run_promtool

from readback import __version__
from readback.api.data.health import Health
from readback.api.data.keyring import Keyring
from readback.api.http.head import Head
from readback.api.ops import STRICT_SECONDS, Ops
from readback.api.shared.created import Limiter
from readback.api.shared.memory import Counters
from readback.config import Config
from readback.processes import metrics
from readback.processes.lifecycle import Lifecycle

NO_ORIGIN = None  # the ops listener treats all clients alike
LONG_AGO = STRICT_SECONDS + 1


@pytest.fixture
def counters():
    return Counters(rows=3)


@pytest.fixture
def ops(counters, tmp_path):
    """The ops listener of the first worker, which has just reached the database."""
    config = Config(data_dir=tmp_path)
    keyring = Keyring(Limiter(1, 1), lambda digest: None, 900.0)
    keyring.confirm(time.monotonic())
    confirm(counters, 0)
    return Ops(counters, Health(counters.row(0)), keyring, Lifecycle(), config)


def confirm(counters: Counters, worker: int, seconds_ago: float = 0.0) -> None:
    at = int((time.monotonic() - seconds_ago) * 1000)
    counters.row(worker).set("keys_confirmed", at)


def answer(ops: Ops, path: bytes) -> bytes:
    head = Head(b"GET", path, [(b"host", b"localhost")], is_http_10=False)
    return ops.begin(head, None, b"", b"", 0, NO_ORIGIN)


def status(ops: Ops, path: bytes) -> bytes:
    return answer(ops, path).split(b" ", 2)[1]


def shown_status(ops: Ops) -> dict[str, object]:
    return json.loads(answer(ops, b"/status").partition(b"\r\n\r\n")[2])


def test_a_replica_with_the_database_is_strictly_ready(ops, counters):
    confirm(counters, 1)
    assert status(ops, b"/readyz/strict") == b"200"


def test_a_replica_is_not_if_another_worker_has_lost_the_database(ops, counters):
    confirm(counters, 1, LONG_AGO)
    assert status(ops, b"/readyz/strict") == b"503"
    assert status(ops, b"/readyz") == b"200"


def test_a_worker_that_has_ended_does_not_count(ops, counters):
    confirm(counters, 1, LONG_AGO)
    counters.row(1).retire()
    assert status(ops, b"/readyz/strict") == b"200"


def test_a_replica_is_not_before_its_first_worker_has_reached_the_database(counters):
    keyring = Keyring(Limiter(1, 1), lambda digest: None, 900.0)
    ops = Ops(counters, Health(counters.row(0)), keyring, Lifecycle(), Config())
    assert status(ops, b"/readyz/strict") == b"503"


def test_the_status_has_the_version_and_sums_over_the_workers(ops, counters):
    for worker in (0, 1):
        counters.row(worker).set("workers", 1)
        counters.row(worker).set("open_connections", 20)

    shown = shown_status(ops)

    assert abs(shown.pop("started_at") - time.time()) < 60
    assert shown == {
        "status": "ready",
        "errors": [],
        "version": __version__,
        "workers": 2,
        "open_connections": 40,
    }


def test_the_status_says_what_does_not_work(counters):
    health, lifecycle = Health(counters.row(0)), Lifecycle()
    keyring = Keyring(Limiter(1, 1), lambda digest: None, 900.0)
    ops = Ops(counters, health, keyring, lifecycle, Config())
    health.reading.failed("a reason")

    assert shown_status(ops)["status"] == "not ready"
    assert shown_status(ops)["errors"] == [
        "cannot read keys from the database: a reason"
    ]
    lifecycle.stop()
    assert shown_status(ops)["status"] == "stopping"


@pytest.mark.parametrize(
    ("path", "is_check"),
    [
        (b"/readyz", True),
        (b"/readyz/strict", True),
        (b"/status", False),
        (b"/healthz", False),
        (b"/metrics", False),
    ],
)
def test_one_check_of_readiness_makes_a_balancer(ops, path, is_check):
    assert status(ops, path) == b"200"
    assert ops._lifecycle.is_watched is is_check


def test_a_check_that_is_not_answered_with_ready_makes_no_balancer(counters):
    keyring = Keyring(Limiter(1, 1), lambda digest: None, 900.0)
    ops = Ops(counters, Health(counters.row(0)), keyring, Lifecycle(), Config())
    assert status(ops, b"/readyz") == b"503"
    assert not ops._lifecycle.is_watched


def samples(ops: Ops) -> tuple[str, str]:
    """Return the content type of the metrics and their text."""
    head = Head(b"GET", b"/metrics", [(b"host", b"localhost")], is_http_10=False)
    top, _, text = (
        ops.begin(head, None, b"", b"", 0, NO_ORIGIN).decode().partition("\r\n\r\n")
    )
    return top.partition("Content-Type: ")[2].partition("\r\n")[0], text


def test_each_metric_has_its_meaning_and_a_value(ops, counters):
    counters.row(0).set("certificate_expires", int(time.time()))
    counters.row(0).set("database_disk_free", 4096)

    kind, text = samples(ops)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    described = re.findall(r"^# HELP readback_(\w+) (.+)$", text, re.M)
    assert len(described) == len(dict(described))
    assert dict(described) == metrics.BOTH_PLANES | metrics.API


def test_promtool_has_no_complaint_about_the_metrics(ops, counters):
    counters.row(0).set("certificate_expires", int(time.time()))
    counters.row(0).set("database_disk_free", 4096)
    run_promtool("check", "metrics", text=samples(ops)[1])


def test_what_has_not_happened_yet_is_0_so_that_the_first_time_is_noticed(ops):
    line = 'readback_requests_total{code="internal_error",endpoint="models"} 0.0'
    assert line in samples(ops)[1].splitlines()


def test_a_scrape_does_not_ask_the_disk(ops, counters, monkeypatch):
    monkeypatch.setattr(os, "statvfs", None)  # it would wait for a disk that hangs
    counters.row(0).set("database_disk_free", 4096)
    assert "readback_database_disk_free_bytes 4096.0" in samples(ops)[1]


def test_a_metric_that_does_not_apply_is_left_out(counters):
    config = Config(database_url="postgresql://localhost/readback")
    keyring = Keyring(Limiter(1, 1), lambda digest: None, 900.0)
    ops = Ops(counters, Health(counters.row(0)), keyring, Lifecycle(), config)

    _type, text = samples(ops)

    assert 'database="postgresql"' in text
    for name in ("database_disk_free_bytes", "certificate_expiry", "contact_age"):
        assert name not in text


def test_an_unexpected_error_of_any_worker_is_shown(ops, counters):
    Health(counters.row(1)).rounds.note(ZeroDivisionError())
    assert shown_status(ops)["errors"] == [
        "unexpected error in the periodic work of a worker; see the log"
    ]
    assert b"periodic work" in answer(ops, b"/readyz")
    assert status(ops, b"/readyz") == b"200"
