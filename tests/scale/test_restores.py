"""A database is restored while two workers serve: ids then belong to other keys."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from readback import keys
from tests.scale.conftest import Site
from tests.support.commands import environment_with, run_command
from tests.support.database import Database
from tests.support.load import models
from tests.support.metrics import metrics, readiness
from tests.support.postgres import Postgres
from tests.support.processes import one_connection_per_worker
from tests.support.waiting import wait_until
from tests.support.wire import Connection

DIGEST_OF = "SELECT digest FROM cabinet_key WHERE id = ?"
ID_OF = "SELECT id FROM cabinet_key WHERE digest = ?"
SET_DIGEST = "UPDATE cabinet_key SET digest = ? WHERE id = ?"


class Restorer:
    """Makes a backup of a site, changes it, and restores it while the site runs."""

    def __init__(self, site: Site, folder: Path, postgresql: Postgres) -> None:
        self._site = site
        self._folder = folder
        self._postgresql = postgresql

    @contextmanager
    def changed_backup(self) -> Iterator[Database]:
        """Return the backup as a database; what is changed there will be restored."""
        live = self._site.database
        self._run(live.url, "backup", "first")
        copy = Database(
            f"sqlite:///{self._folder}/copy"
            if live.is_sqlite
            else self._postgresql.new_database()
        )
        self._run(copy.url, "restore", "first")
        yield copy
        self._run(copy.url, "backup", "second")

    def restore(self) -> None:
        self._run(self._site.database.url, "restore", "second", "--yes", "--online")

    def _run(self, url: str, *arguments: str) -> None:
        settings = {
            "READBACK_DATABASE_URL": url,
            "READBACK_SECRET_KEY": "x" * 50,
            "PATH": f"{self._postgresql.programs}:{os.environ['PATH']}",
        }
        environment = environment_with(settings)
        done = run_command(environment, *arguments, folder=self._folder)
        assert done.returncode == 0, done.stderr + done.stdout


def ask(site: Site, connection: Connection, key: str) -> int:
    connection.send(models(site.endpoint, key))
    return connection.read_answer().status


def digest(key: str) -> bytes:
    return keys.digest(key.encode())


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_keys_that_take_the_ids_of_others_in_a_restore_are_not_mixed_up(
    kind: str, start: Callable[..., Site], tmp_path: Path, postgresql: Postgres
) -> None:
    site = start(kind, READBACK_WORKERS="2")
    lost, [first, second] = site.new_keys(40), site.new_keys(2)
    restored = [keys.mint() for _ in lost]
    restorer = Restorer(site, tmp_path, postgresql)
    with restorer.changed_backup() as backup:
        for old, new in zip(lost, restored, strict=True):
            backup.rows(SET_DIGEST, digest(new), backup.value(ID_OF, digest(old)))
        ids = [backup.value(ID_OF, digest(key)) for key in (first, second)]
        backup.rows(SET_DIGEST, b"x" * 32, ids[0])
        backup.rows(SET_DIGEST, digest(first), ids[1])
        backup.rows(SET_DIGEST, digest(second), ids[0])

    with one_connection_per_worker(site.server) as connections:
        for connection in connections:
            for key in (*lost, first, second, *lost):
                assert ask(site, connection, key) == 200
        restorer.restore()
        # Before the workers have asked about their keys again.
        for key in (*restored, first):
            for connection in connections:
                assert ask(site, connection, key) == 200
        for key in lost:
            for connection in connections:
                wait_until(
                    lambda c=connection, k=key: ask(site, c, k) == 401,
                    "a key that is not in the backup is refused",
                    seconds=10,
                )
        revoke(site.database, second)
        for connection in connections:
            wait_until(
                lambda c=connection: ask(site, c, second) == 401,
                "a revoked key is refused",
                seconds=10,
            )

    for key in restored:
        wait_until(
            lambda k=key: site.database.usage(k) == {("models", ""): 2},
            lambda k=key: f"its own usage is written, not {site.database.usage(k)}",
        )
    # What was counted just before the restore may have been written before or after it.
    counted = site.database.usage(first)[("models", "")]
    assert counted in range(2, 5)
    assert_whole(site)


def revoke(database: Database, key: str) -> None:
    database.rows(
        "UPDATE cabinet_key SET revoked_at = ? WHERE digest = ?",
        *(database.moment(0), digest(key)),
    )


def assert_whole(site: Site) -> None:
    found = metrics(site.server.ops_url)
    assert (found["worker_deaths_total"], found["round_errors_total"]) == (0, 0)
    wait_until(
        lambda: readiness(site.server.ops_url, "/readyz/strict") == (200, []),
        "every worker completes its rounds",
    )


def test_a_restore_and_a_transaction_do_not_wait_for_each_other(
    start: Callable[..., Site], tmp_path: Path, postgresql: Postgres
) -> None:
    """PostgreSQL would end either of them after a second."""
    site = start("postgresql", READBACK_WORKERS="1")
    restorer = Restorer(site, tmp_path, postgresql)
    with restorer.changed_backup():
        pass
    with ThreadPoolExecutor(1) as pool, site.database.connected() as writer:
        # Like a worker that writes usage, and reads who owns the keys.
        with writer.transaction():
            writer.execute("LOCK TABLE cabinet_usage IN ROW EXCLUSIVE MODE")
            restored = pool.submit(restorer.restore)
            wait_until(lambda: has_begun(site.database), "the restore has begun")
            writer.execute("LOCK TABLE cabinet_user IN ACCESS SHARE MODE")
        restored.result()


def has_begun(database: Database) -> bool:
    """Return whether the restore waits for a lock, or for a moment without locks."""
    return bool(
        database.rows(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'psql'"
            " AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')"
        )
    )
