"""Servers on each kind of database."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from tests.support.server import UNLIMITED, Server, ephemeral_server

Serve = Callable[..., AbstractContextManager[Server]]
"""Runs a server on a new database of the given kind, with the given settings."""


@pytest.fixture(scope="module")
def serve(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Serve:
    @contextmanager
    def _serve(kind: str, **settings: str) -> Iterator[Server]:
        folder = tmp_path_factory.mktemp(kind)
        if kind == "sqlite":
            url = f"sqlite:///{folder}/readback.sqlite3"
        else:
            url = request.getfixturevalue("postgresql").migrated_database()
        chosen = {**UNLIMITED, "READBACK_DATABASE_URL": url, **settings}
        with ephemeral_server(folder, chosen) as server:
            yield server

    return _serve


@pytest.fixture
def start(serve: Serve) -> Iterator[Callable[..., Server]]:
    """Start a server that is stopped at the end of the test."""
    with ExitStack() as stack:
        yield lambda kind, **settings: stack.enter_context(serve(kind, **settings))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, serve: Serve) -> Iterator[Server]:
    with serve(request.param, READBACK_WORKERS="2") as site:
        yield site
