"""A server with two workers for each kind of database, and any number of keys."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

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


@pytest.fixture(scope="module")
def start(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Any]]:
    """Start a server on a new database of one kind, with these settings."""
    with ExitStack() as stack:

        def _start(kind: str, **settings: str) -> Site:
            folder = tmp_path_factory.mktemp(kind)
            if kind == "sqlite":
                url = f"sqlite:///{folder}/readback.sqlite3"
            else:
                url = request.getfixturevalue("postgresql").migrated_database()
            chosen = {**UNLIMITED, "READBACK_DATABASE_URL": url, **settings}
            server = stack.enter_context(ephemeral_server(folder, chosen))
            return Site(server, Database(url))

        yield _start


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, start: Callable[..., Site]) -> Site:
    return start(request.param, READBACK_WORKERS="2")
