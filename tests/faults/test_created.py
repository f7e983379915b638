"""`created` on two workers, and across the end of a worker and of the service."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from readback import keys
from tests.support.api import Api, assert_success, draft
from tests.support.database import Database
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
HOUR = 3600


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


def test_a_burst_is_at_most_an_hour_ahead_and_then_starts_again(tmp_path: Path) -> None:
    with api_server(tmp_path, UNLIMITED) as server:
        given = ask_anew(Api.of(server), HOUR + 300)
        assert max(given) <= time.time() + HOUR
    assert len(set(given[:HOUR])) == HOUR
    assert given[-1] < given[HOUR - 1]
    assert all(a != b for a, b in zip(given, given[1:], strict=False))


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


def kill_a_worker(server: Server) -> None:
    victim = min(worker_pids(server))
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: has_ended(victim), "the worker is gone")
    wait_until(lambda: len(worker_pids(server)) == 2, "another one runs")


@pytest.mark.parametrize("replace", [reload, kill_a_worker])
def test_a_worker_that_is_replaced_repeats_no_value(
    tmp_path: Path, replace: Callable[[Server], None]
) -> None:
    """Not even one that other workers have given out in the meantime."""
    with api_server(tmp_path, TWO_WORKERS) as server:
        api = Api.of(server)
        wait_until(lambda: len(worker_pids(server)) == 2, "two workers run")
        given = []
        for _ in range(2):
            with ThreadPoolExecutor(4) as pool:
                for part in pool.map(lambda _: ask_anew(api, 100), range(4)):
                    given += part
            replace(server)
        given += ask_anew(api, 200)
    assert len(set(given)) == len(given) == 1000


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_orderly_restart_goes_on_from_the_last_value(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/readback.sqlite3"
    if kind == "postgresql":
        url = request.getfixturevalue("postgresql").migrated_database()
    chosen = UNLIMITED | {"READBACK_DATABASE_URL": url}
    database, key = Database(url), keys.mint()
    given = []
    for start in ("first", "second"):
        (tmp_path / start).mkdir()
        with ephemeral_server(tmp_path / start, chosen) as server:
            if not given:
                owner = database.add_account("alice@example.com")
                database.add_keys(owner, [key])
            given += ask_anew(Api.of(server).with_key(key), 500)
    assert given == sorted(set(given))
    assert given[500] == given[499] + 1
