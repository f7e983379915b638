"""Servers whose database fails; a gate in front of PostgreSQL can cut it off."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from tests.faults.database.gate import Gate, gate
from tests.support.database import Database
from tests.support.load import models
from tests.support.postgres import Postgres, postgres
from tests.support.server import UNLIMITED, Server, ephemeral_server
from tests.support.wire import Answer, Endpoint, exchange


@dataclass
class Site:
    """A server, its database, and Alice's unused keys."""

    server: Server
    database: Database
    unused_keys: list[str]
    earlier_log: int = 0

    @property
    def endpoint(self) -> Endpoint:
        return self.server.endpoint

    def ask(self, key: str) -> Answer:
        return exchange(self.endpoint, models(self.endpoint, key))

    @property
    def log(self) -> str:
        return (self.server.folder / "stderr").read_text()[self.earlier_log :]


@dataclass(frozen=True)
class GatedPostgres:
    """A PostgreSQL server for one module, and the gate in front of it."""

    server: Postgres
    gate: Gate


Start = Callable[..., Site]


@pytest.fixture(scope="module")
def gated() -> Iterator[GatedPostgres]:
    with postgres() as server, gate(server.socket) as in_front:
        yield GatedPostgres(server, in_front)


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start a server on the database at a URL, with forty unused keys."""
    with _starting(tmp_path_factory) as start:
        yield start


@contextmanager
def _starting(folders: pytest.TempPathFactory) -> Iterator[Start]:
    with ExitStack() as stack:

        def _start(url: str, sql_url: str = "", **settings: str) -> Site:
            folder: Path = folders.mktemp("server")
            chosen = {**UNLIMITED, "READBACK_WORKERS": "1", **settings}
            chosen["READBACK_DATABASE_URL"] = url
            server = stack.enter_context(ephemeral_server(folder, chosen))
            database = Database(sql_url or url)
            return Site(server, database, database.new_keys(40))

        yield _start


@pytest.fixture
def start_behind_gate(gated: GatedPostgres, start: Start) -> Start:
    """Start a server that reaches PostgreSQL only through the gate."""

    def _start(**settings: str) -> Site:
        return start(*_urls(gated), **settings)

    return _start


@pytest.fixture(scope="module")
def shared_site(
    gated: GatedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A server behind the gate, for all tests that leave it unchanged."""
    with _starting(tmp_path_factory) as start:
        yield start(*_urls(gated))


@pytest.fixture
def site_behind_gate(shared_site: Site) -> Site:
    """The shared server; its log begins with this test."""
    return replace(shared_site, earlier_log=len(shared_site.log))


def _urls(gated: GatedPostgres) -> tuple[str, str]:
    """Return two URLs of a new database: through the gate, and without it."""
    direct = gated.server.migrated_database()
    name = psycopg.conninfo.conninfo_to_dict(direct)["dbname"]
    return f"postgresql://postgres@127.0.0.1:{gated.gate.port}/{name}", direct
