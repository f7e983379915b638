"""Requests are answered while the database is migrated."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import run_command
from tests.support.load import models
from tests.support.server import Server
from tests.support.traffic import echoes, traffic
from tests.support.waiting import PATIENCE, wait_until
from tests.support.warm_start import WarmProcess
from tests.support.wire import exchange


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, start: Callable[..., Server]) -> Server:
    return start(request.param, READBACK_WORKERS="1")


# Makes a migration pending, as an upgrade does; the API does not need its table.
ANOTHER_VERSION = ["manage", "migrate", "sessions", "zero"]
# Changes that a migration may make while the API uses the tables.
ADDITIONS = (
    "ALTER TABLE cabinet_key ADD COLUMN note varchar(20) NULL",
    "ALTER TABLE cabinet_journalentry ADD COLUMN note varchar(20) NULL",
    "CREATE INDEX key_note ON cabinet_key (note)",
    "CREATE TABLE cabinet_new (id integer)",
)


def test_two_concurrent_migrations_under_load_do_no_harm(site, tmp_path):
    [key] = site.database.new_keys(1)
    site.run(*ANOTHER_VERSION)
    assert "pending migrations: 1" in pending(site)
    with traffic(site.endpoint, echoes(site.endpoint, [key]), clients=2) as seen:
        seen.wait_for(1)
        outputs = migrate_at_once(site, 2, tmp_path)
        for statement in ADDITIONS:
            site.database.rows(statement)
        [fresh] = site.database.new_keys(1)
        assert exchange(site.endpoint, models(site.endpoint, fresh)).status == 200

    assert not seen.problems
    assert sum("applied sessions.0001_initial" in output for output in outputs) == 1
    assert "pending" not in pending(site)
    wait_until(
        lambda: site.database.usage(key) == {("chat", ""): seen.answered},
        "all requests are counted",
    )


def migrate_at_once(site: Server, number: int, folder: Path) -> list[str]:
    outputs = [folder / f"output-{each}" for each in range(number)]
    running = [
        WarmProcess(["migrate"], site.environment, stdout=output, stderr=output)
        for output in outputs
    ]
    assert [process.wait(PATIENCE) for process in running] == [0] * number
    return [output.read_text() for output in outputs]


def pending(site: Server) -> str:
    """Return what `readback doctor` says about the database."""
    done = run_command({**site.environment, "COLUMNS": "200"}, "doctor")
    return "".join(line for line in done.stdout.splitlines() if "database" in line)
