"""A server with two workers for each kind of database, and any number of keys."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count

import pytest

from readback import keys
from tests.support.database import Database
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.wire import Endpoint

_numbers = count(1)


@dataclass(frozen=True)
class Site:
    """A server and its database."""

    server: Server
    database: Database

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint.of(self.server.base_url)

    def new_keys(self, number: int) -> list[str]:
        """Add an account with this many keys."""
        account = self.database.add_account(f"alice-{next(_numbers)}@example.com")
        made = [keys.mint() for _ in range(number)]
        self.database.add_keys(account, made)
        return made


Serve = Callable[..., AbstractContextManager[Site]]
"""Runs a server on a new database of one kind, with these settings."""


@pytest.fixture(scope="module")
def serve(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Serve:
    @contextmanager
    def _serve(kind: str, **settings: str) -> Iterator[Site]:
        folder = tmp_path_factory.mktemp(kind)
        if kind == "sqlite":
            url = f"sqlite:///{folder}/readback.sqlite3"
        else:
            url = request.getfixturevalue("postgresql").migrated_database()
        chosen = {**UNLIMITED, "READBACK_DATABASE_URL": url, **settings}
        with ephemeral_server(folder, chosen) as server:
            yield Site(server, Database(url))

    return _serve


@pytest.fixture
def start(serve: Serve) -> Iterator[Callable[..., Site]]:
    """Start a server that is stopped at the end of the test."""
    with ExitStack() as stack:
        yield lambda kind, **settings: stack.enter_context(serve(kind, **settings))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, serve: Serve) -> Iterator[Site]:
    with serve(request.param, READBACK_WORKERS="2") as site:
        yield site
