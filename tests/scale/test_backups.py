"""The commands of docs/operations.md for back-up and restore, tried as they stand."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scale.conftest import Place
from tests.support.database import Database
from tests.support.load import models
from tests.support.postgres import Postgres
from tests.support.waiting import wait_until
from tests.support.wire import exchange

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def command(kind: str, verb: str) -> str:
    """The command that the page gives under a heading such as "Back up SQLite"."""
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
def test_a_back_up_made_while_requests_come_brings_back_keys_and_counts(
    kind: str,
    start: Callable[..., Place],
    tmp_path: Path,
    postgresql: Postgres,
) -> None:
    place = start(kind.lower(), READBACK_WORKERS="1")
    [key] = place.new_keys(1)
    raw = models(place.endpoint, key)
    for _ in range(3):
        assert exchange(place.endpoint, raw).status == 200
    wait_until(lambda: place.database.usage(key) == {("models", ""): 3}, "written")

    saved = {"BACKUP": str(tmp_path / "saved")}
    run(
        command(kind, "Back up"),
        postgresql.programs,
        **saved,
        **where(place.database.url),
    )
    # What happens after the back-up is not in it.
    assert exchange(place.endpoint, raw).status == 200
    wait_until(lambda: place.database.usage(key) == {("models", ""): 4}, "written")

    if kind == "SQLite":
        url = f"sqlite:///{tmp_path}/restored.sqlite3"
    else:
        url = postgresql.new_database()
    run(command(kind, "Restore"), postgresql.programs, **saved, **where(url))
    assert Database(url).usage(key) == {("models", ""): 3}


def where(url: str) -> dict[str, str]:
    if url.startswith("sqlite:///"):
        return {"DATABASE": url.removeprefix("sqlite:///")}
    return {"READBACK_DATABASE_URL": url}
