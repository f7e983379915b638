"""A backup restored on a new machine, under load or on a new PostgreSQL server.

The tests use real servers, requests and logins with an authenticator app. They are
slow, so only `make long` runs them.
"""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from readback import keys
from tests.cli.program import Program, local_settings
from tests.support.browser import CHALLENGE, Browser, code
from tests.support.database import Database
from tests.support.load import models
from tests.support.pages import block
from tests.support.postgres import Postgres, postgres
from tests.support.server import UNLIMITED
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Endpoint, exchange

ALICE = "alice@example.com"
PASSWORD = "a lamp in the harbour"


class Load:
    """Creates, uses and revokes keys continuously, and records what succeeded."""

    def __init__(self, endpoint: Endpoint, database: Database) -> None:
        self._endpoint = endpoint
        self._database = database
        self._account = database.value("SELECT id FROM cabinet_user")
        self.created: list[str] = []
        self.revoked: list[str] = []
        self.stop = threading.Event()
        self.answers = 0

    def run(self) -> None:
        revoke = "UPDATE cabinet_key SET revoked_at = ? WHERE digest = ?"
        while not self.stop.wait(0.005):
            key, other = keys.mint(), keys.mint()
            self._database.add_keys(self._account, [key, other])
            digest = keys.digest(other.encode())
            self._database.rows(revoke, self._database.moment(0), digest)
            self.created.append(key)
            self.revoked.append(other)
            assert exchange(self._endpoint, models(self._endpoint, key)).status == 200
            self.answers += 1

    def close(self) -> None:
        self.stop.set()


@contextmanager
def served(program: Program) -> Iterator[tuple[Endpoint, str]]:
    with program.serving("--show-key", until="running"):
        api = program.settings["READBACK_API_BIND"]
        cabinet = program.settings["READBACK_CABINET_BIND"]
        yield Endpoint.of(f"http://{api}/v1"), f"http://{cabinet}"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_was_acknowledged_before_a_backup_is_there_after_the_restore(
    kind: str, tmp_path: Path, postgresql: Postgres
) -> None:
    old, new = (installation(tmp_path / name, kind, postgresql) for name in "ab")
    old.output("migrate")
    old.output(
        *("account", "create", ALICE, "--confirmed", "--password-stdin"),
        stdin=PASSWORD,
    )
    with served(old) as (endpoint, cabinet):
        browser = Browser(cabinet)
        browser.log_in(ALICE, PASSWORD)
        secret = browser.add_app()
        load = Load(endpoint, old.database)
        with ThreadPoolExecutor(4) as pool, closing(load):
            running = [pool.submit(load.run) for _ in range(4)]
            wait_until(lambda: load.answers > 100, "there is load")
            before = list(load.created), list(load.revoked)
            begun = time.monotonic()
            old.output("backup", "saved")
            took = time.monotonic() - begun
            during = load.answers
        assert [each.result() for each in running] == [None] * 4
        assert during > len(before[0]), "the service went on"
    begun = time.monotonic()
    new.output("restore", str(old.folder / "saved"), "--yes")
    print(
        f"{kind}: {len(before[0])} keys, {took:.1f} s, {time.monotonic() - begun:.1f}"
    )

    with served(new) as (endpoint, cabinet):
        with endpoint.connect() as connection:
            for key in before[0]:
                connection.send(models(endpoint, key))
                assert connection.read_answer().status == 200
            for key in before[1]:
                connection.send(models(endpoint, key))
                assert connection.read_answer().status == 401
        browser = Browser(cabinet)
        assert 'name="code"' in browser.log_in(ALICE, PASSWORD)
        browser.post(CHALLENGE, code=code(secret, 1))
        assert ALICE in browser.get("/account/")


def installation(folder: Path, kind: str, postgresql: Postgres) -> Program:
    folder.mkdir()
    settings = {**local_settings(folder), **UNLIMITED}
    if kind == "postgresql":
        settings["READBACK_DATABASE_URL"] = postgresql.new_database()
    return Program(folder, settings)


ROOT = Path(__file__).parents[2]
GRANTED = (
    "SELECT has_column_privilege('readback_api', 'cabinet_key', 'digest', 'SELECT')"
)


def prepare(server: Postgres) -> None:
    """Create the roles and the database as docs/backup.md says."""
    folder = str(Path(server.socket).parent)
    subprocess.run(
        ["sh", "-e", "-c", block("createdb --owner=readback")],
        cwd=ROOT,
        env={
            "PATH": f"{server.programs}:{os.environ['PATH']}",
            "PGHOST": folder,
            "PGUSER": "postgres",
        },
        # Without a terminal, psql reads the passwords here, each twice.
        start_new_session=True,
        input="harbour\nharbour\nlamp\nlamp\n",
        text=True,
        check=True,
        timeout=PATIENCE,
    )


def on_new_server(folder: Path, server: Postgres) -> Program:
    folder.mkdir()
    prepare(server)
    url = f"postgresql://readback:harbour@/readback?host={Path(server.socket).parent}"
    return Program(folder, {**local_settings(folder), "READBACK_DATABASE_URL": url})


def grant(server: Postgres, program: Program) -> None:
    """Run the file that gives the API's role its privileges, as the owner."""
    grants = ROOT / "deploy" / "postgresql" / "grants.sql"
    url = program.settings["READBACK_DATABASE_URL"]
    psql = [server.programs / "psql", "--quiet", f"--file={grants}", url]
    subprocess.run(psql, check=True, timeout=PATIENCE)


@pytest.mark.long
def test_a_restore_on_a_new_server_has_the_keys_and_keeps_privileges(tmp_path):
    with postgres() as server:
        old = on_new_server(tmp_path / "old", server)
        old.output("migrate")
        old.output("account", "create", "alice@example.com", "--confirmed")
        old.output("key", "create", "alice@example.com")
        old.output("backup", "saved")
    with postgres() as server:
        new = on_new_server(tmp_path / "new", server)
        new.output("restore", "--yes", str(tmp_path / "old" / "saved"))
        grant(server, new)
        new.output("restore", "--yes", str(tmp_path / "old" / "saved"))

        assert new.database.value("SELECT count(*) FROM cabinet_key") == 1
        assert new.database.value(GRANTED)
