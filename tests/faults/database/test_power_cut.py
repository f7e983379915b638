"""What the cabinet and the command line commit to SQLite is on the disk at once.

A power cut cannot be made here, so the tests look at what decides its outcome: the
setting of real connections, and the calls that wait for the disk.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from readback.api.data.dialects import dialect
from readback.config import Config
from tests.support import migrated
from tests.support.commands import environment_with, run_readback
from tests.support.database import Database
from tests.support.programs import needed_program

NORMAL, FULL = 1, 2
EMAIL = "alice@example.org"
SETTING = "from django.db import connection as c; cursor = c.cursor();"
SETTING += "print(cursor.execute('PRAGMA synchronous').fetchone()[0])"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    made = environment_with({"READBACK_DATA_DIR": str(tmp_path / "data")})
    migrated.provide(made)
    return made


@pytest.fixture
def in_use(tmp_path: Path, environment: dict[str, str]) -> Iterator[None]:
    """Keep a connection open: the last one to close writes everything to the disk."""
    database = Database(f"sqlite:///{tmp_path}/data/readback.sqlite3")
    with database.connected() as connection:
        connection.execute("SELECT count(*) FROM cabinet_key").fetchall()
        yield


def test_the_cabinet_and_the_command_line_wait_for_the_disk(environment):
    shown = run_readback(environment, "manage", "shell", "-v", "0", "-c", SETTING)
    assert int(shown.stdout) == FULL


def test_the_api_does_not_wait_for_its_usage_and_journal(tmp_path, environment):
    connection = dialect(Config(data_dir=tmp_path / "data")).connect()
    [setting] = connection.execute("PRAGMA synchronous").fetchone()
    connection.close()
    assert setting == NORMAL


def test_a_new_key_is_on_the_disk_when_its_command_ends(tmp_path, environment, in_use):
    needed_program("strace")
    run_readback(environment, "account", "create", EMAIL, "--confirmed")
    calls = tmp_path / "calls"
    done = subprocess.run(
        [
            *("strace", "-f", "-yy", "-e", "trace=fdatasync,fsync,write"),
            *("-s", "64", "-o", str(calls)),
            *(sys.executable, "-m", "readback", "key", "create", EMAIL),
        ],
        env=environment,
        capture_output=True,
        text=True,
    )
    if "ptrace" in done.stderr:
        pytest.skip(f"strace is not allowed here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr

    # It is stored only after it could be printed, so that no key is made and lost.
    _, shown, after = calls.read_text().partition("sk-echo-")
    assert shown
    assert re.search(r"sync\(\d+<[^>]*readback\.sqlite3-wal>\)\s+= 0", after)
