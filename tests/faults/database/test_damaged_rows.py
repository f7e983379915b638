"""A damaged or unusual row in the database affects only its own key."""

from pathlib import Path

from readback import keys
from tests.faults.database.conftest import Site, Start
from tests.support.metrics import metrics, readiness
from tests.support.postgres import Postgres
from tests.support.processes import reload
from tests.support.waiting import wait_until

SET_EXPIRY = "UPDATE cabinet_key SET expires_at = ? WHERE digest = ?"


def digest(key: str) -> bytes:
    return keys.digest(key.encode())


def assert_revocation_works(site: Site, key: str) -> None:
    assert site.ask(key).status == 200
    site.server.revoke_key(key)
    wait_until(lambda: site.ask(key).status == 401, "it is refused", seconds=10)


def test_a_damaged_row_affects_its_key_alone(start: Start, tmp_path: Path) -> None:
    site = start(f"sqlite:///{tmp_path}/readback.sqlite3", READBACK_WORKERS="2")
    ops = site.server.ops_url
    damaged, *others = site.unused_keys
    assert site.ask(damaged).status == 200
    site.database.rows(SET_EXPIRY, "soon", digest(damaged))

    wait_until(lambda: site.ask(damaged).status == 401, "it counts as expired")
    assert_revocation_works(site, others[0])
    assert readiness(ops, "/readyz/strict") == (200, [])
    assert metrics(ops)["round_errors_total"] == 0 and "soon" not in site.log

    site.database.rows(SET_EXPIRY, None, digest(damaged))
    wait_until(lambda: site.ask(damaged).status == 200, "it works again")
    assert metrics(ops)["worker_deaths_total"] == 0
    assert_revocation_works(site, others[1])


def test_a_key_without_end_in_postgresql_is_accepted(
    start: Start, postgresql: Postgres
) -> None:
    site = start(postgresql.migrated_database())
    endless, past, *others = site.unused_keys
    for key, moment in ((endless, "infinity"), (past, "-infinity")):
        assert site.ask(key).status == 200
        site.database.rows(SET_EXPIRY, moment, digest(key))
    wait_until(lambda: site.ask(past).status == 401, "it has expired", seconds=10)
    assert site.ask(endless).status == 200
    assert_revocation_works(site, others[0])
    assert readiness(site.server.ops_url, "/readyz/strict") == (200, [])
    reload(site.server)  # a new worker reads the row again
    assert site.ask(endless).status == 200
