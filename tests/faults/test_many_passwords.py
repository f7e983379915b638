"""Waiting forms, such as many sign-ups at once, leave threads for all other pages."""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import psycopg
import pytest

from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.postgres import Postgres
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection, Endpoint

PAGES = ("/", "/accounts/login/", "/accounts/signup/", "/docs/", "/healthz")
# For each worker: the threads that forms may use, and more forms that wait for them.
RUNNING, WAITING = 4, 100
LOGIN = "/accounts/login/"


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
        # A login counts its attempt first, and waits as long as this table is locked.
        locked = stack.enter_context(psycopg.connect(database))
        locked.execute("LOCK TABLE cabinet_cache")
        running = [_send(stack, server, _login(server)) for _ in range(RUNNING)]
        wait_until(lambda: _blocked(database) == RUNNING, "the threads are occupied")
        # These fail as soon as they have a thread.
        others = [_send(stack, server, _form(b"")) for _ in range(WAITING)]

        for page in PAGES:
            assert httpx.get(f"{server.url}{page}", timeout=PATIENCE).status_code == 200
        waiting = [*running, *others]
        assert not _answered(waiting)

        locked.rollback()
        wait_until(lambda: _answered(waiting) == len(waiting), "all are served")
        assert [each.read_answer().status for each in others] == [403] * WAITING


def test_a_client_cannot_move_the_pages_to_other_paths(server: CabinetServer) -> None:
    """Some servers believe this header."""
    headers = {"SCRIPT_NAME": "/x"}
    moved = httpx.get(f"{server.url}/x{LOGIN}", headers=headers, timeout=PATIENCE)
    assert moved.status_code == 404


def _login(server: CabinetServer) -> bytes:
    """Return the form of a login with a wrong password."""
    page = httpx.get(f"{server.url}{LOGIN}", timeout=PATIENCE)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    fields = f"csrfmiddlewaretoken={token[1]}&login=alice@example.org&password=wrong"
    cookie = f"Cookie: csrf={page.cookies['csrf']}\r\n"
    return _form(fields.encode(), cookie.encode())


def _form(body: bytes, cookie: bytes = b"") -> bytes:
    head = (
        f"POST {LOGIN} HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\n"
    )
    return head.encode() + cookie + b"\r\n" + body


def _send(stack: ExitStack, server: CabinetServer, request: bytes) -> Connection:
    client = stack.enter_context(Endpoint.of(server.url).connect())
    client.send(request)
    return client


def _answered(clients: list[Connection]) -> int:
    return sum(client.has_bytes() for client in clients)


def _blocked(database: str) -> int:
    """Return how many forms wait for the lock, without the sender, which cleans up."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            """ AND query NOT LIKE '%"expires" <%'"""
        )
        return rows.fetchone()[0]
