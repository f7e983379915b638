"""What a stop and a kill may lose of the usage of a key that is used all the time."""

import os
import signal
import time
from pathlib import Path

import pytest

from readback import keys
from tests.support.api import Api
from tests.support.database import Database
from tests.support.server import UNLIMITED, Server, api_server
from tests.support.waiting import wait_until

SECONDS = 2
LONG_INTERVAL = UNLIMITED | {"READBACK_JOURNAL_INTERVAL": str(SECONDS)}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database of each kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").migrated_database()
    return f"sqlite:///{tmp_path}/readback.sqlite3"


class BusyKey:
    """A key of Alice in constant use, until usage waits to be written."""

    def __init__(self, server: Server, url: str) -> None:
        self.database, key = Database(url), keys.mint()
        self.database.add_keys(self.database.add_account("a@example.com"), [key])
        self.api = Api.of(server).with_key(key)
        self.sent_at: list[float] = []
        self.rows: set[int] = set()
        # The longest time for which a request was not written.
        self.longest = 0.0

    def send(self) -> None:
        wait_until(
            self._is_in_the_middle,
            lambda: f"usage waits: {self.written} of {len(self.sent_at)} are written",
        )

    @property
    def written(self) -> int:
        return sum(self.database.usage(self.api.key).values())

    def _is_in_the_middle(self) -> bool:
        self.sent_at.append(time.monotonic())
        assert self.api.models().status == 200
        written = self.written
        self.rows.add(written)
        waiting = len(self.sent_at) - written
        if waiting:
            self.longest = max(self.longest, time.monotonic() - self.sent_at[written])
        return len(self.rows) > 4 and waiting > 4


def test_a_kill_loses_no_more_usage_than_that_of_an_interval(
    url: str, tmp_path: Path
) -> None:
    chosen = LONG_INTERVAL | {"READBACK_DATABASE_URL": url}
    with api_server(tmp_path / "server", chosen, is_killed=True) as server:
        key = BusyKey(server, url)
        key.send()
        os.killpg(server.pid, signal.SIGKILL)
    # Ten times as long as it may be.
    assert key.longest < 10 * (SECONDS + 1)


def test_a_stop_loses_no_usage(url: str, tmp_path: Path) -> None:
    chosen = LONG_INTERVAL | {"READBACK_DATABASE_URL": url}
    with api_server(tmp_path / "server", chosen) as server:
        key = BusyKey(server, url)
        key.send()
    assert key.written == len(key.sent_at)
