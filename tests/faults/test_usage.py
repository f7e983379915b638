"""A kill loses little usage; a stop loses none, and `created` keeps increasing."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.api import Api, assert_success, draft
from tests.support.server import UNLIMITED, api_server
from tests.support.waiting import wait_until

SECONDS = 2


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Use a new database of each kind, and write usage to it every two seconds."""
    url = f"sqlite:///{tmp_path}/readback.sqlite3"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql").migrated_database()
    interval = {"READBACK_JOURNAL_INTERVAL": str(SECONDS)}
    return UNLIMITED | interval | {"READBACK_DATABASE_URL": url}


def test_a_kill_loses_no_more_usage_than_that_of_an_interval(
    settings: dict[str, str], tmp_path: Path
) -> None:
    sent_at: list[float] = []
    counts: set[int] = set()
    longest = 0.0  # how long a request remained unwritten
    with api_server(tmp_path / "server", settings, is_killed=True) as server:
        api = Api.of(server)

        def is_in_the_middle() -> bool:
            nonlocal longest
            sent_at.append(time.monotonic())
            assert api.models().status == 200
            written = sum(server.database.usage(api.key).values())
            counts.add(written)
            waiting = len(sent_at) - written
            if waiting:
                longest = max(longest, time.monotonic() - sent_at[written])
            return len(counts) > 4 and waiting > 4

        wait_until(is_in_the_middle, lambda: f"usage waits: {counts}, {len(sent_at)}")
        os.killpg(server.pid, signal.SIGKILL)
    # A busy machine may take ten times as long as promised.
    assert longest < 10 * (SECONDS + 1)


def test_an_orderly_restart_loses_no_usage_and_continues_created(
    settings: dict[str, str], tmp_path: Path
) -> None:
    key, given = "", []
    for start in ("first", "second"):
        with api_server(tmp_path / start, settings, key=key) as server:
            key = server.api_key
            given += created_of(Api.of(server), 500)
        # Most of the usage was not written yet when the stop began.
        assert server.database.usage(key) == {("chat", ""): len(given)}
    assert given == sorted(set(given))
    assert given[500] == given[499] + 1


def created_of(api: Api, answers: int) -> list[int]:
    given = []
    with api.endpoint.connect() as connection:
        for _ in range(answers):
            connection.send(api.chat_bytes(draft("x")))
            given.append(assert_success(connection.read_answer())["created"])
    return given
