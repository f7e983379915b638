"""The database is brought to another version while requests come."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from tests.scale.conftest import Place
from tests.support.load import models
from tests.support.waiting import wait_until
from tests.support.wire import exchange


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, start: Callable[..., Place]) -> Place:
    return start(request.param, READBACK_WORKERS="1")


# A table that the API does not need, so it stands for one of the next version …
ANOTHER_VERSION = ["manage", "migrate", "sessions", "zero"]
# … and changes of those that it does need, as a migration would make them.
ADDITIONS = (
    "ALTER TABLE cabinet_key ADD COLUMN note varchar(20) NULL",
    "ALTER TABLE cabinet_journalentry ADD COLUMN note varchar(20) NULL",
    "CREATE INDEX key_note ON cabinet_key (note)",
    "CREATE TABLE cabinet_new (id integer)",
)


def test_migrations_run_while_requests_come_and_two_at_once_do_no_harm(place):
    [key] = place.new_keys(1)
    place.server.run(*ANOTHER_VERSION)
    assert "sessions.0001_initial" in pending(place)
    statuses: Counter[int] = Counter()
    done = threading.Event()
    raw = models(place.endpoint, key)

    def ask_all_the_time() -> None:
        while not done.wait(0.002):
            statuses[exchange(place.endpoint, raw).status] += 1

    caller = threading.Thread(target=ask_all_the_time)
    caller.start()
    try:
        wait_until(lambda: statuses[200], "the key is known")
        said = migrate_at_once(place, 2)
        for statement in ADDITIONS:
            place.database.rows(statement)
        [fresh] = place.new_keys(1)
        assert exchange(place.endpoint, models(place.endpoint, fresh)).status == 200
    finally:
        done.set()
        caller.join()

    assert set(statuses) == {200}
    assert sum("applied sessions.0001_initial" in each for each in said) == 1
    assert "sessions" not in pending(place)
    wait_until(
        lambda: place.database.usage(key) == {("models", ""): statuses[200]},
        "and nothing is left out of the counts",
    )


def migrate_at_once(place: Place, number: int) -> list[str]:
    command = [sys.executable, "-m", "readback", "migrate"]
    running = [
        subprocess.Popen(
            command,
            env=dict(place.server.environment),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(number)
    ]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0] * number
    return said


def pending(place: Place) -> str:
    """What `doctor` says of the database."""
    done = subprocess.run(
        [sys.executable, "-m", "readback", "doctor"],
        env={**place.server.environment, "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    return "".join(line for line in done.stdout.splitlines() if "database" in line)
