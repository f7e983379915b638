"""docs/backup.md: a restore on a PostgreSQL server that has never seen Readback."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import Program, local_settings
from tests.support.database import Database
from tests.support.pages import block
from tests.support.postgres import Postgres, postgres
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
GRANTED = (
    "SELECT has_column_privilege('readback_api', 'cabinet_key', 'digest', 'SELECT')"
)


def prepare(server: Postgres) -> None:
    """Create the roles and the database as the page says."""
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


def installation(folder: Path, server: Postgres) -> Program:
    folder.mkdir()
    prepare(server)
    url = f"postgresql://readback:harbour@/readback?host={Path(server.socket).parent}"
    path = f"{server.programs}:{os.environ['PATH']}"
    settings = {**local_settings(folder), "READBACK_DATABASE_URL": url, "PATH": path}
    return Program(folder, settings)


@pytest.mark.long
def test_a_restore_on_a_new_server_has_the_keys_and_the_privileges(tmp_path):
    with postgres() as server:
        old = installation(tmp_path / "old", server)
        old.output("migrate")
        url = old.settings["READBACK_DATABASE_URL"]
        grants = ROOT / "deploy" / "postgresql" / "grants.sql"
        psql = [server.programs / "psql", "--quiet", f"--file={grants}", url]
        subprocess.run(psql, check=True, timeout=PATIENCE)
        old.output("account", "create", "alice@example.com", "--confirmed")
        old.output("key", "create", "alice@example.com")
        old.output("backup", "saved")
    with postgres() as server:
        new = installation(tmp_path / "new", server)
        new.output("restore", "--yes", str(tmp_path / "old" / "saved"))
        database = Database(new.settings["READBACK_DATABASE_URL"])

        assert database.value("SELECT count(*) FROM cabinet_key") == 1
        assert database.value(GRANTED)
