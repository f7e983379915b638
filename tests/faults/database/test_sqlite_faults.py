"""When SQLite cannot write, requests are answered and operators see the reason.

What the cabinet and the commands commit survives a power cut. A test cannot cause one,
so it checks the setting that decides the outcome.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from readback.api.data.dialects import dialect
from readback.config import Config
from tests.faults.database.conftest import Site, Start
from tests.faults.disks import limited_files, read_only
from tests.support import migrated
from tests.support.commands import NO_BYTECODE, environment_with, run_readback
from tests.support.metrics import metrics, readiness
from tests.support.processes import reload, worker_pids
from tests.support.waiting import wait_until


@pytest.fixture
def site(start: Start, tmp_path: Path) -> Site:
    return start(f"sqlite:///{tmp_path}/readback.sqlite3", **NO_BYTECODE)


@contextmanager
def locked(site: Site) -> Iterator[None]:
    """Hold a write transaction open, as another program might."""
    with site.database.connected() as other_program:
        other_program.execute("BEGIN IMMEDIATE")
        yield
        other_program.execute("ROLLBACK")


@contextmanager
def disk_full(site: Site) -> Iterator[None]:
    with limited_files(*worker_pids(site.server)):
        yield


@contextmanager
def file_read_only(site: Site) -> Iterator[None]:
    """Make the file read-only, and replace the workers, which have it open."""
    path = Path(site.database.url.removeprefix("sqlite:///"))
    if os.geteuid() == 0:  # permissions do not apply to root
        with read_only(path):
            reload(site.server)
            yield
    else:
        path.chmod(0o444)
        reload(site.server)
        yield
        path.chmod(0o644)


FAULTS = {
    locked: "another program has locked the database",
    disk_full: "the disk",
    file_read_only: "the database file is read-only",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_requests_are_answered_and_operators_see_why_nothing_is_written(site, fault):
    ops, key = site.server.ops_url, site.unused_keys.pop()
    assert site.ask(key).status == 200
    with fault(site):
        assert site.ask(key).status == 200
        assert site.ask(site.unused_keys.pop()).status == 200  # keys can still be read
        wait_until(
            lambda: metrics(ops)["database_writable_workers"] == 0,
            "the metric shows the fault",
        )
        status, problems = readiness(ops)
        assert status == 200 and FAULTS[fault] in " ".join(problems)
        wait_until(lambda: FAULTS[fault] in site.log, "the log names the fault")
        for _ in range(3):
            assert site.ask(key).status == 200
        wait_until(
            lambda: metrics(ops)["pending_rows"] >= 2, "the metric shows what waits"
        )

    if fault is file_read_only:
        # A file that is already open stays read-only.
        reload(site.server)
    wait_until(lambda: readiness(ops) == (200, []), "all problems are gone")
    wait_until(
        lambda: site.database.usage(key) == {("models", ""): 5}, "all are counted"
    )
    wait_until(lambda: metrics(ops)["pending_rows"] == 0, "nothing waits any more")
    assert metrics(ops)["journal_dropped_total"] == 0


NORMAL, FULL = 1, 2
SETTING = "from django.db import connection as c; cursor = c.cursor();"
SETTING += "print(cursor.execute('PRAGMA synchronous').fetchone()[0])"


def test_only_the_api_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    environment = environment_with({"READBACK_DATA_DIR": str(tmp_path)})
    migrated.provide(environment)
    shown = run_readback(environment, "manage", "shell", "-v", "0", "-c", SETTING)
    assert int(shown.stdout) == FULL

    connection = dialect(Config(data_dir=tmp_path)).connect()
    [setting] = connection.execute("PRAGMA synchronous").fetchone()
    connection.close()
    assert setting == NORMAL
