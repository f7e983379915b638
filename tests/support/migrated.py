"""Migrated databases, which are copies of one that `readback migrate` made.

Migrating takes 0.5 s of CPU time, and copying almost none. So only tests of migrations
and of the first start begin with an empty database.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.support.commands import environment_with, run_readback
from tests.support.made_once import made_once

SQLITE = "sqlite:///"


def migrate(url: str) -> None:
    """Bring the database at a URL up to date."""
    settings = {"READBACK_DATABASE_URL": url, "READBACK_SECRET_KEY": "x" * 50}
    run_readback(environment_with(settings), "migrate")


def copy_to(path: Path) -> None:
    """Create a migrated SQLite database, unless there is one already."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(_template(), path)


def provide(environment: Mapping[str, str]) -> None:
    """Create a migrated database where these settings expect it, if it is SQLite."""
    url = environment.get("READBACK_DATABASE_URL")
    if url is None:
        copy_to(Path(environment["READBACK_DATA_DIR"], "readback.sqlite3"))
    elif url.startswith(SQLITE):
        copy_to(Path(url.removeprefix(SQLITE)))


def _template() -> Path:
    name = "readback.sqlite3"
    folder = made_once(
        "migrated-sqlite", lambda place: migrate(f"{SQLITE}{place}/{name}")
    )
    return folder / name
