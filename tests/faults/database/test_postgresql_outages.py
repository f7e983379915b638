"""PostgreSQL is killed, hangs or cannot be reached, while requests come."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from readback import keys
from tests.faults.database.conftest import Away, Site, Start
from tests.support.load import models
from tests.support.metrics import metrics, readiness
from tests.support.waiting import wait_until
from tests.support.wire import Answer

PROMISED_SECONDS = 3.0


@contextmanager
def killed(away: Away) -> Iterator[None]:
    away.server.kill()
    try:
        yield
    finally:
        away.server.start_again()


@contextmanager
def hung(away: Away) -> Iterator[None]:
    away.server.freeze()
    try:
        yield
    finally:
        away.server.thaw()


@contextmanager
def unreachable(away: Away) -> Iterator[None]:
    away.gate.shut()
    try:
        yield
    finally:
        away.gate.open()


class Caller(threading.Thread):
    """Somebody who uses a known key all the time, on one connection."""

    def __init__(self, site: Site, key: str) -> None:
        super().__init__()
        self._site, self._raw = site, models(site.endpoint, key)
        self._stopped = threading.Event()
        self.statuses: Counter[int] = Counter()
        self.longest = 0.0

    def run(self) -> None:
        with self._site.endpoint.connect() as connection:
            while not self._stopped.wait(0.005):
                began = time.monotonic()
                connection.send(self._raw)
                self.statuses[connection.read_answer().status] += 1
                self.longest = max(self.longest, time.monotonic() - began)

    def __enter__(self) -> "Caller":
        self.start()
        wait_until(lambda: self.statuses[200], "the key is known")
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self.join()


@pytest.mark.parametrize("outage", [killed, hung, unreachable])
def test_known_keys_go_on_and_unknown_ones_are_told_to_come_back(
    away: Away, start_behind_gate: Start, outage: Callable
) -> None:
    site = start_behind_gate()
    ops, key = site.server.ops_url, site.unmet.pop()
    with Caller(site, key) as caller:
        with outage(away):
            for _ in range(3):
                assert_told_to_come_back(site, site.unmet.pop())
            # Not even a key that was never made is called wrong.
            assert_told_to_come_back(site, keys.mint())
            wait_until(lambda: metrics(ops)["database_up"] == 0, "the metric says it")
            status, [*errors] = readiness(ops)
            # Nobody else could do more, so requests should still come here.
            assert status == 200 and "cannot read keys from the database" in errors[0]
            assert "cannot read keys from the database" in site.log
            answered = caller.statuses.total()
            wait_until(
                lambda: caller.statuses.total() > answered + 100,
                "the known key goes on",
            )

        waiting = site.unmet.pop()
        wait_until(lambda: site.ask(waiting).status == 200, "the database is back", 15)
        wait_until(lambda: readiness(ops) == (200, []), "nothing is wrong any more")

    assert set(caller.statuses) == {200}
    wait_until(
        lambda: site.database.usage(key) == {("models", ""): caller.statuses[200]},
        f"all {caller.statuses[200]} are counted, those of the outage, too",
    )
    assert metrics(ops)["journal_dropped_total"] == 0
    assert "works again" in site.log


def assert_told_to_come_back(site: Site, key: str) -> None:
    began = time.monotonic()
    answer = site.ask(key)
    assert_unavailable(answer)
    assert time.monotonic() - began < PROMISED_SECONDS


def assert_unavailable(answer: Answer) -> None:
    assert (answer.status, answer.body) == (503, b'{"error":{"code":"unavailable"}}')
    assert int(answer.header("Retry-After") or 0) >= 1


def test_when_the_grace_is_over_known_keys_are_told_to_come_back_too(
    away: Away, start_behind_gate: Start
) -> None:
    site = start_behind_gate(READBACK_DATABASE_GRACE="2")
    key = site.unmet.pop()
    raw = models(site.endpoint, key)
    with site.endpoint.connect() as connection:
        connection.send(raw)
        assert connection.read_answer().status == 200
        began, status = time.monotonic(), 200
        with killed(away):
            while status == 200:
                assert time.monotonic() - began < 6
                connection.send(raw)
                answer = connection.read_answer()
                status = answer.status
            assert time.monotonic() - began > 1
            assert_unavailable(answer)
            assert readiness(site.server.ops_url)[0] == 503
        wait_until(lambda: site.ask(key).status == 200, "the database is back", 15)
        assert readiness(site.server.ops_url) == (200, [])


def test_a_row_that_somebody_holds_delays_neither_revocations_nor_other_usage(
    start_behind_gate: Start,
) -> None:
    site = start_behind_gate()
    held, other, revoked = (site.unmet.pop() for _ in range(3))
    for key in (held, other, revoked):
        assert site.ask(key).status == 200
    with site.database.connected() as somebody:
        somebody.execute("BEGIN")
        somebody.execute(
            "SELECT id FROM cabinet_key WHERE last_four = %s FOR UPDATE", [held[-4:]]
        )
        for _ in range(5):
            assert site.ask(held).status == site.ask(other).status == 200
        wait_until(
            lambda: site.database.usage(other) == {("models", ""): 6}, "others go on"
        )
        site.database.rows(
            "UPDATE cabinet_key SET revoked_at = now() WHERE last_four = ?",
            revoked[-4:],
        )
        wait_until(lambda: site.ask(revoked).status == 401, "revoked", seconds=1)
        somebody.execute("ROLLBACK")
    wait_until(lambda: site.database.usage(held) == {("models", ""): 6}, "all is there")


def test_a_connection_that_the_server_ended_is_replaced_without_a_word(
    start_behind_gate: Start,
) -> None:
    site = start_behind_gate()
    for _ in range(3):
        site.database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'readback-api'"
            " AND datname = current_database()"
        )
        assert site.ask(site.unmet.pop()).status == 200
