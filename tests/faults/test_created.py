"""`created` keeps its rule on two workers, across reloads, restarts and replicas."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from readback import keys
from tests.support.api import Api, assert_success, draft
from tests.support.created import assert_created_by_the_rule
from tests.support.database import Database
from tests.support.metrics import metrics
from tests.support.postgres import Postgres
from tests.support.processes import (
    has_ended,
    one_connection_per_worker,
    reload,
    worker_pids,
)
from tests.support.server import UNLIMITED, Server, api_server, ephemeral_server
from tests.support.waiting import wait_until
from tests.support.wire import Connection

TWO_WORKERS = UNLIMITED | {"READBACK_WORKERS": "2"}
ONE_WORKER = UNLIMITED | {"READBACK_WORKERS": "1"}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database of each kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").migrated_database()
    return f"sqlite:///{tmp_path}/readback.sqlite3"


def ask(api: Api, connection: Connection, times: int) -> list[int]:
    """Return the values of `created`, fewer if the connection is closed before."""
    given = []
    closed = False
    while len(given) < times and not closed:
        connection.send(api.chat_bytes(draft("x")))
        answer = connection.read_answer()
        given.append(assert_success(answer)["created"])
        closed = answer.header("Connection") == "close"
    return given


def ask_anew(api: Api, times: int) -> list[int]:
    """Return the values of `created` on as many connections as it takes."""
    given: list[int] = []
    while len(given) < times:
        with api.endpoint.connect() as connection:
            given += ask(api, connection, times - len(given))
    return given


def a_key(server: Server, url: str) -> tuple[Api, Database]:
    """Add a key of Alice; return the API as its user sees it, and the database."""
    database, key = Database(url), keys.mint()
    database.add_keys(database.add_account("alice@example.com"), [key])
    return Api.of(server).with_key(key), database


def is_written(api: Api, database: Database, created: int) -> bool:
    digest = sha256(api.key.encode()).digest()
    statement = "SELECT last_created FROM cabinet_key WHERE digest = ?"
    return (database.value(statement, digest) or 0) >= created


def test_a_burst_of_four_thousand_keeps_the_rule(tmp_path: Path) -> None:
    with api_server(tmp_path, ONE_WORKER) as server:
        given = ask_anew(Api.of(server), 4000)
    assert len(set(given[:3600])) == 3600
    assert_created_by_the_rule(given)


def test_two_workers_that_answer_at_once_give_out_different_values(
    tmp_path: Path,
) -> None:
    with (
        api_server(tmp_path, TWO_WORKERS) as server,
        one_connection_per_worker(server) as connections,
        ThreadPoolExecutor(2) as pool,
    ):
        api = Api.of(server)
        parts = list(pool.map(lambda each: ask(api, each, 800), connections))
    given = [created for part in parts for created in part]
    assert len(set(given)) == len(given)


def test_a_reload_in_the_middle_of_a_burst_repeats_no_value(tmp_path: Path) -> None:
    with api_server(tmp_path, TWO_WORKERS) as server, ThreadPoolExecutor(5) as p:
        api = Api.of(server)
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        bursts = [p.submit(ask_anew, api, 200) for _ in range(4)]
        bursts[0].result()
        reloading = p.submit(reload, server)
        bursts += [p.submit(ask_anew, api, 200) for _ in range(4)]
        reloading.result()
        bursts.append(p.submit(ask_anew, api, 200))
        given = [created for burst in bursts for created in burst.result()]
    assert len(set(given)) == len(given) == 1800


def test_a_restart_repeats_no_value(url: str, tmp_path: Path) -> None:
    chosen = ONE_WORKER | {"READBACK_DATABASE_URL": url}
    for start in ("first", "second"):
        (tmp_path / start).mkdir()
    with ephemeral_server(tmp_path / "first", chosen) as server:
        api, _ = a_key(server, url)
        given = ask_anew(api, 40)
    with ephemeral_server(tmp_path / "second", chosen) as server:
        given += ask_anew(Api.of(server).with_key(api.key), 40)
    assert len(set(given)) == 80


def wait_for_refresh(server: Server) -> None:
    """Wait until a worker has begun and ended a round of its database thread."""
    before = metrics(server.ops_url)["statements_total"]
    wait_until(
        lambda: metrics(server.ops_url)["statements_total"] >= before + 2,
        "the worker has asked the database again",
    )


def test_a_stopping_replica_writes_its_values_before_its_last_request_ends(
    tmp_path: Path, postgresql: Postgres
) -> None:
    url = postgresql.migrated_database()
    chosen = ONE_WORKER | {"READBACK_DATABASE_URL": url, "READBACK_STOP_TIMEOUT": "100"}
    with api_server(tmp_path, chosen) as server:
        api, database = a_key(server, url)
        raw = api.chat_bytes(draft("x"))
        with api.endpoint.connect() as slow, api.endpoint.connect() as fast:
            slow.send(raw[:-1])
            ask(api, fast, 40)
            os.kill(server.pid, signal.SIGTERM)
            # The last of these is answered while the server is stopping.
            given = ask(api, fast, 10_000)
            wait_until(lambda: is_written(api, database, given[-1]), "it is written")
            slow.send(raw[-1:])
            last = assert_success(slow.read_answer())["created"]
        wait_until(lambda: has_ended(server.pid), "the server has ended")
    assert last > given[-1]
    assert is_written(api, database, last)


class LongInterval:
    """A key of Alice in constant use, until usage waits to be written."""

    def __init__(self, server: Server, url: str) -> None:
        self.api, self.database = a_key(server, url)
        self.given: list[int] = []
        self.sent_at: list[float] = []
        self.rows: set[int] = set()
        # The longest time that a request has not been written for.
        self.longest = 0.0

    def send(self) -> None:
        with self.api.endpoint.connect() as connection:
            wait_until(
                lambda: self._is_in_the_middle(connection),
                lambda: f"usage waits: {self.written} of {len(self.given)} are written",
            )

    @property
    def written(self) -> int:
        return sum(self.database.usage(self.api.key).values())

    def _is_in_the_middle(self, connection: Connection) -> bool:
        self.sent_at.append(time.monotonic())
        self.given += ask(self.api, connection, 1)
        written = self.written
        self.rows.add(written)
        waiting = len(self.given) - written
        if waiting:
            self.longest = max(self.longest, time.monotonic() - self.sent_at[written])
        # After a few rows, what was given out is covered although it is not counted.
        return (
            len(self.rows) > 4
            and waiting > 4
            and is_written(self.api, self.database, self.given[-1])
        )


SECONDS = 2
LONG_INTERVAL = ONE_WORKER | {"READBACK_JOURNAL_INTERVAL": str(SECONDS)}


def test_a_kill_in_a_long_interval_repeats_no_value_and_loses_no_more_than_that(
    url: str, tmp_path: Path
) -> None:
    chosen = LONG_INTERVAL | {"READBACK_DATABASE_URL": url}
    with api_server(tmp_path / "first", chosen, is_killed=True) as server:
        key = LongInterval(server, url)
        key.send()
        os.killpg(server.pid, signal.SIGKILL)
    assert key.written < len(key.given)
    # Ten times as long as it may be.
    assert key.longest < 10 * (SECONDS + 1)
    with api_server(tmp_path / "second", chosen) as server:
        given = key.given + ask_anew(Api.of(server).with_key(key.api.key), 40)
    assert len(set(given)) == len(given)
    assert given == sorted(given)


def test_a_replica_that_takes_over_from_a_killed_one_repeats_no_value(
    tmp_path: Path, postgresql: Postgres
) -> None:
    url = postgresql.migrated_database()
    chosen = LONG_INTERVAL | {"READBACK_DATABASE_URL": url}
    with api_server(tmp_path / "b", chosen) as b:
        with api_server(tmp_path / "a", chosen, is_killed=True) as a:
            key = LongInterval(a, url)
            there = Api.of(b).with_key(key.api.key)
            # It knows the key, and has given out values itself.
            given = ask_anew(there, 20)
            wait_until(lambda: is_written(there, key.database, given[-1]), "written")
            wait_until(lambda: key.written == 20, "the usage is written")
            wait_for_refresh(a)
            key.sent_at = [time.monotonic()] * 20
            key.given = given
            key.send()
            os.killpg(a.pid, signal.SIGKILL)
        wait_for_refresh(b)
        given = key.given + ask_anew(there, 40)
    assert len(set(given)) == len(given)


def test_a_stop_in_a_long_interval_loses_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/readback.sqlite3"
    with api_server(tmp_path, LONG_INTERVAL | {"READBACK_DATABASE_URL": url}) as server:
        key = LongInterval(server, url)
        key.send()
    assert key.written == len(key.given)
