"""The API and the commands work through PgBouncer in transaction mode."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from readback import keys
from tests.support.commands import free_port
from tests.support.load import models
from tests.support.metrics import metrics, readiness
from tests.support.postgres import Postgres
from tests.support.programs import needed_program
from tests.support.server import UNLIMITED, ephemeral_server
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import exchange


@pytest.fixture
def pooled(postgresql: Postgres, tmp_path: Path) -> Iterator[str]:
    """The URL of a new database, through PgBouncer."""
    pgbouncer = needed_program("pgbouncer")
    name = psycopg.conninfo.conninfo_to_dict(postgresql.migrated_database())["dbname"]
    port = free_port()
    with tempfile.NamedTemporaryFile("w") as ini:
        ini.write(
            "[databases]\n"
            f"* = host={Path(postgresql.socket).parent} user=postgres\n"
            "[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            "auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n"
        )
        ini.flush()
        os.chmod(ini.name, 0o644)
        # PgBouncer refuses to run as root, and so does PostgreSQL.
        user = Path(postgresql.socket).owner() if os.geteuid() == 0 else None
        process = subprocess.Popen([pgbouncer, ini.name], user=user)
        try:
            url = f"postgresql://postgres@127.0.0.1:{port}/{name}"
            wait_until(lambda: connects(url), "PgBouncer answers")
            yield url
        finally:
            process.terminate()
            process.wait(PATIENCE)


def connects(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=int(PATIENCE)).close()
    except psycopg.OperationalError:
        return False
    return True


def test_everything_works_through_two_pooled_sessions(
    pooled: str, tmp_path: Path
) -> None:
    settings = {**UNLIMITED, "READBACK_WORKERS": "2", "READBACK_DATABASE_URL": pooled}
    with ephemeral_server(tmp_path, settings) as server:
        key = server.new_key()
        raw = models(server.endpoint, key)
        for _ in range(20):
            assert exchange(server.endpoint, raw).status == 200
        unknown = models(server.endpoint, keys.mint())
        assert exchange(server.endpoint, unknown).status == 401
        wait_until(
            lambda: server.database.usage(key) == {("models", ""): 20}, "counted"
        )

        by_command = server.run("key", "create", server.account_email).strip()
        known = models(server.endpoint, by_command)
        assert exchange(server.endpoint, known).status == 200
        listed = json.loads(server.run("key", "list", server.account_email, "--json"))
        [made] = [
            each["id"] for each in listed if each["masked"].endswith(by_command[-4:])
        ]
        server.run("key", "revoke", str(made), "--yes")
        wait_until(lambda: exchange(server.endpoint, known).status == 401, "revoked")

        assert readiness(server.ops_url) == (200, [])
        assert metrics(server.ops_url)["database_errors_total"] == 0
