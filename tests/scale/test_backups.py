"""The commands for backup and restore in docs/operations.md, run unchanged."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scale.conftest import Site
from tests.support.database import Database
from tests.support.load import models
from tests.support.postgres import Postgres
from tests.support.waiting import wait_until
from tests.support.wire import exchange

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def command(kind: str, verb: str) -> str:
    """Return the command under a heading of the page such as "Back up SQLite"."""
    found = re.search(
        rf"^#+ {verb} {kind}\n.*?```sh\n(.*?)```", PAGE.read_text(), re.S | re.M
    )
    assert found, f"{verb} {kind}"
    return found[1]


def run(script: str, programs: Path, **variables: str) -> None:
    path = f"{Path(sys.executable).parent}:{programs}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    done = subprocess.run(
        ["sh", "-eu", "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_a_backup_taken_under_load_restores_keys_and_counts(
    kind: str,
    start: Callable[..., Site],
    tmp_path: Path,
    postgresql: Postgres,
) -> None:
    site = start(kind.lower(), READBACK_WORKERS="1")
    [key] = site.new_keys(1)
    raw = models(site.endpoint, key)
    for _ in range(3):
        assert exchange(site.endpoint, raw).status == 200
    wait_until(lambda: site.database.usage(key) == {("models", ""): 3}, "written")

    saved = {"BACKUP": str(tmp_path / "saved")}
    run(
        command(kind, "Back up"),
        postgresql.programs,
        **saved,
        **where(site.database.url),
    )
    assert Path(saved["BACKUP"]).stat().st_mode & 0o777 == 0o600
    # Requests after the backup are not in it.
    assert exchange(site.endpoint, raw).status == 200
    wait_until(lambda: site.database.usage(key) == {("models", ""): 4}, "written")

    if kind == "SQLite":
        url = f"sqlite:///{tmp_path}/restored.sqlite3"
    else:
        url = postgresql.new_database()
    run(command(kind, "Restore"), postgresql.programs, **saved, **where(url))
    if kind == "SQLite":
        assert (tmp_path / "restored.sqlite3").stat().st_mode & 0o777 == 0o600
    assert Database(url).usage(key) == {("models", ""): 3}


def where(url: str) -> dict[str, str]:
    if url.startswith("sqlite:///"):
        return {"DATABASE": url.removeprefix("sqlite:///")}
    return {"READBACK_DATABASE_URL": url}
