"""Forms that wait, such as many logins at once, leave threads for other pages."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import psycopg
import pytest

from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.forms import LOGIN, filled, send
from tests.support.postgres import Postgres
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection

PAGES = ("/", LOGIN, "/accounts/signup/", "/docs/", "/healthz")
# How many of a worker's threads forms may use, and how many forms wait for one.
RUNNING, WAITING = 4, 100


@pytest.fixture(scope="module")
def database(postgresql: Postgres) -> str:
    return postgresql.migrated_database()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, database: str
) -> Iterator[CabinetServer]:
    folder = tmp_path_factory.mktemp("passwords")
    with cabinet_server(folder, {"READBACK_DATABASE_URL": database}) as running:
        yield running
        assert "Traceback" not in running.stderr


def test_other_pages_are_answered_while_passwords_wait(
    server: CabinetServer, database: str
) -> None:
    with ExitStack() as stack:
        # A login first counts its attempt, which needs this table.
        locked = stack.enter_context(psycopg.connect(database))
        locked.execute("LOCK TABLE cabinet_cache")
        running = [send(stack, _login(server)) for _ in range(RUNNING)]
        wait_until(lambda: _blocked(database) == RUNNING, "the threads are occupied")
        # These are refused as soon as they get a thread.
        empty = httpx.Request("POST", f"{server.url}{LOGIN}")
        others = [send(stack, empty) for _ in range(WAITING)]

        for page in PAGES:
            assert httpx.get(f"{server.url}{page}", timeout=PATIENCE).status_code == 200
        waiting = [*running, *others]
        assert not _answered(waiting)

        locked.rollback()
        wait_until(lambda: _answered(waiting) == len(waiting), "all are served")
        assert [each.read_answer().status for each in others] == [403] * WAITING


def _login(server: CabinetServer) -> httpx.Request:
    """Return a request that submits the login form with a wrong password."""
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as visitor:
        return filled(visitor, LOGIN, login="alice@example.org", password="wrong")


def _answered(clients: list[Connection]) -> int:
    return sum(client.has_bytes() for client in clients)


def _blocked(database: str) -> int:
    """Return how many forms wait for the lock, not counting the periodic cleanup."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            """ AND query NOT LIKE '%"expires" <%'"""
        )
        return rows.fetchone()[0]
