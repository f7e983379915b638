"""PostgreSQL is killed, hangs or becomes unreachable while requests arrive."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from readback import keys
from readback.api.data.dialects import StoreError
from readback.api.data.journal import Event, Tally
from readback.api.data.store import Store
from readback.config import Config
from tests.faults.database.conftest import GatedPostgres, Site, Start
from tests.support.load import models
from tests.support.metrics import metrics, readiness
from tests.support.traffic import echoes, traffic
from tests.support.waiting import wait_until
from tests.support.wire import Answer

# Three seconds are promised; the rest is for a busy machine. A request that waited for
# a hanging PostgreSQL would never be answered.
ANSWER_SECONDS = 30.0


@contextmanager
def outage(gated: GatedPostgres, kind: str) -> Iterator[None]:
    server, gate = gated.server, gated.gate
    begin, end = {
        "killed": (server.kill, server.start_again),
        "frozen": (server.freeze, server.thaw),
        "unreachable": (gate.shut, gate.open),
    }[kind]
    begin()
    try:
        yield
    finally:
        end()


@pytest.mark.parametrize("kind", ["killed", "frozen", "unreachable"])
def test_known_keys_work_during_an_outage_and_unknown_ones_get_a_503(
    gated: GatedPostgres, site_behind_gate: Site, kind: str
) -> None:
    site = site_behind_gate
    ops, key = site.server.ops_url, site.unused_keys.pop()
    with traffic(site.endpoint, echoes(site.endpoint, [key]), clients=2) as seen:
        seen.wait_for(1)
        with outage(gated, kind):
            for _ in range(3):
                assert_told_to_retry(site, site.unused_keys.pop())
            # Even a key that was never issued is not called wrong.
            assert_told_to_retry(site, keys.mint())
            wait_until(
                lambda: metrics(ops)["database_readable_workers"] == 0,
                "the metric shows the outage",
            )
            status, [*problems] = readiness(ops)
            # Another server could not do better, so this one stays ready.
            assert status == 200 and "cannot read keys from the database" in problems[0]
            wait_until(
                lambda: "cannot read keys from the database" in site.log,
                "the log shows the outage",
            )
            wait_until(
                lambda: readiness(ops, "/readyz/strict")[0] == 503,
                "the strict check fails",
            )
            assert readiness(ops)[0] == 200
            seen.wait_for(100)

        waiting = site.unused_keys.pop()
        wait_until(lambda: site.ask(waiting).status == 200, "the database is back")
        wait_until(lambda: readiness(ops) == (200, []), "all problems are gone")

    assert not seen.problems
    wait_until(
        lambda: site.database.usage(key) == {("chat", ""): seen.answered},
        f"all {seen.answered} are counted, including those of the outage",
    )
    assert metrics(ops)["journal_dropped_total"] == 0
    wait_until(
        lambda: "recovered; was: cannot read keys" in site.log,
        "the log shows the end of the outage",
    )


def assert_told_to_retry(site: Site, key: str) -> None:
    began = time.monotonic()
    answer = site.ask(key)
    assert_unavailable(answer)
    assert time.monotonic() - began < ANSWER_SECONDS


def assert_unavailable(answer: Answer) -> None:
    assert (answer.status, answer.body) == (503, b'{"error":{"code":"unavailable"}}')
    assert int(answer.header("Retry-After") or 0) >= 1


def test_after_the_grace_period_known_keys_get_a_503_too(
    gated: GatedPostgres, start_behind_gate: Start
) -> None:
    site = start_behind_gate(READBACK_DATABASE_GRACE="3")
    key = site.unused_keys.pop()
    raw = models(site.endpoint, key)
    with site.endpoint.connect() as connection:
        connection.send(raw)
        assert connection.read_answer().status == 200
        with outage(gated, "killed"):

            def ask() -> Answer:
                connection.send(raw)
                return connection.read_answer()

            wait_until(lambda: ask().status != 200, "the grace period has ended")
            assert_unavailable(ask())
            assert readiness(site.server.ops_url)[0] == 503
        wait_until(lambda: site.ask(key).status == 200, "the database is back")
        # Usage is written a little later than keys are read.
        ops = site.server.ops_url
        wait_until(lambda: readiness(ops) == (200, []), "all problems are gone")


def test_a_locked_row_delays_neither_revocations_nor_other_usage(
    site_behind_gate: Site,
) -> None:
    site = site_behind_gate
    held, other, revoked = (site.unused_keys.pop() for _ in range(3))
    for key in (held, other, revoked):
        assert site.ask(key).status == 200
    with site.database.connected() as other_program:
        other_program.execute("BEGIN")
        other_program.execute(
            "SELECT id FROM cabinet_key WHERE last_four = %s FOR UPDATE", [held[-4:]]
        )
        for _ in range(5):
            assert site.ask(held).status == site.ask(other).status == 200
        wait_until(
            lambda: site.database.usage(other) == {("models", ""): 6},
            "the usage of another key is written",
        )
        site.server.revoke_key(revoked)
        # One second is promised; ten allow for a busy machine.
        wait_until(lambda: site.ask(revoked).status == 401, "revoked", seconds=10)
        other_program.execute("ROLLBACK")
    wait_until(
        lambda: site.database.usage(held) == {("models", ""): 6}, "all usage is written"
    )


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "not written"])
def test_usage_is_counted_once_if_the_answer_to_a_commit_is_lost(
    gated: GatedPostgres, site_behind_gate: Site, is_written: bool
) -> None:
    site = site_behind_gate
    key = site.unused_keys.pop()
    assert site.ask(key).status == 200
    counted = {("models", ""): 1}
    wait_until(lambda: site.database.usage(key) == counted, "the first is written")
    # If the COMMIT is lost, PostgreSQL rolls back when the connection ends.
    last = [b"INSERT INTO cabinet_usage", *([b"COMMIT"] if is_written else [])]
    gated.gate.shut_after(*last)
    with site.endpoint.connect() as connection:
        for _ in range(10):
            connection.send(models(site.endpoint, key))
            assert connection.read_answer().status == 200
    wait_until(lambda: not gated.gate.is_open, "the answer is lost")
    written = site.database.usage(key) != counted
    assert written == is_written
    assert site.ask(key).status == 200
    gated.gate.open()
    ops = site.server.ops_url
    counted = {("models", ""): 12}
    wait_until(lambda: site.database.usage(key) == counted, "all are written")
    wait_until(lambda: readiness(ops) == (200, []), "all problems are gone")
    wait_until(lambda: metrics(ops)["pending_rows"] == 0, "nothing waits")
    assert site.database.usage(key) == counted


def test_usage_is_counted_once_if_postgresql_is_killed_before_a_commit(
    gated: GatedPostgres, site_behind_gate: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL forgets the transaction when it restarts, and reuses its number."""
    database, key = site_behind_gate.database, site_behind_gate.unused_keys.pop()
    store, other = (Store(Config(database_url=database.url)) for _ in range(2))

    def kill_first(text: str, values: object = ()) -> object:
        if text == "COMMIT":
            gated.server.kill()
        return Store._run(store, text, values)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_run", kill_first)
        with pytest.raises(StoreError):
            store.record([tally(key)])
    gated.server.start_again()
    for _ in range(3):
        other.record([tally(key)])
    store.record([tally(key)])
    assert database.usage(key) == {("chat", ""): 4}
    store.close()
    other.close()
    # The next test needs a server that has noticed the end of the outage.
    ops, unknown = site_behind_gate.server.ops_url, site_behind_gate.unused_keys.pop()
    wait_until(lambda: site_behind_gate.ask(unknown).status == 200, "it is back")
    wait_until(lambda: readiness(ops) == (200, []), "all problems are gone")


def tally(key: str) -> Tally:
    made = Tally(Event(keys.digest(key.encode()), "chat", 200, "", "", ""))
    made.at, made.requests = time.time(), 1
    return made
