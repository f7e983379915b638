"""Our own server with one worker on a new database, for measurements of it alone."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.postgres import postgres
from tests.support.server import UNLIMITED, Server, ephemeral_server

from bench import proc

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"


@contextmanager
def serving(kind: str) -> Iterator[tuple[Server, str]]:
    """Serve on the first core, with PostgreSQL on the last; give its address, too."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/readback.sqlite3"
        if kind == POSTGRESQL:
            with proc.on_core(-1):
                database = running.enter_context(postgres())
            url = database.new_database()
        settings = {**UNLIMITED, "READBACK_WORKERS": "1", "READBACK_DATABASE_URL": url}
        with proc.on_core(0):
            server = running.enter_context(ephemeral_server(folder, settings))
        yield server, url
