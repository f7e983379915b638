"""The API's database role can do what the API needs, and nothing else.

psql creates the roles from deploy/postgresql, as it does for an operator.
"""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from readback import keys
from readback.api.data.store import Store
from readback.config import Config
from readback.contract import JOURNAL_ROWS
from tests.support.api import Api
from tests.support.commands import (
    environment_with,
    free_port,
    run_command,
    run_readback,
)
from tests.support.database import Database
from tests.support.load import pipeline
from tests.support.metrics import readiness
from tests.support.postgres import Postgres
from tests.support.server import EMAIL, UNLIMITED, Server, api_server
from tests.support.waiting import wait_until
from tests.support.wire import request

SQL = Path(__file__).parents[2] / "deploy" / "postgresql"
API_ROLE = "readback_api"
DAY = 86_400


@dataclass(frozen=True)
class Installation:
    """A migrated database that belongs to the cabinet's role."""

    owner_url: str
    api_url: str
    psql: Callable[[str, str], None]

    @property
    def owner(self) -> Database:
        return Database(self.owner_url)

    def run(self, *arguments: str) -> str:
        settings = {
            "READBACK_DATABASE_URL": self.owner_url,
            "READBACK_SECRET_KEY": "x" * 50,
        }
        return run_readback(environment_with(settings), *arguments).stdout

    def grant(self) -> None:
        self.psql("grants.sql", self.owner_url)


def url_for(role: str, url: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"postgresql://{role}@/{parts['dbname']}?host={parts['host']}"


@pytest.fixture(scope="module")
def template(postgresql: Postgres) -> str:
    """The URL of a database whose tables the cabinet's role has created."""
    url = postgresql.new_database()
    made = install(postgresql, url)
    made.run("migrate")
    return url


@pytest.fixture
def installation(postgresql: Postgres, template: str) -> Installation:
    made = install(postgresql, postgresql.new_database(template))
    made.grant()
    return made


@pytest.fixture(scope="module")
def installation_with_key(postgresql: Postgres, template: str) -> Installation:
    """An installation that tests try to change, but cannot."""
    made = install(postgresql, postgresql.new_database(template))
    made.grant()
    made.owner.add_keys(made.owner.add_account(EMAIL), [keys.mint()])
    return made


def install(postgresql: Postgres, superuser: str) -> Installation:
    """Create the roles, and give a database to the cabinet's role."""

    def psql(file: str, url: str) -> None:
        command = [str(postgresql.programs / "psql"), f"--file={SQL / file}", url]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    for _ in range(2):
        psql("roles.sql", superuser)
    name = psycopg.conninfo.conninfo_to_dict(superuser)["dbname"]
    postgresql.execute(f"ALTER DATABASE {name} OWNER TO readback")
    return Installation(
        url_for("readback", superuser), url_for(API_ROLE, superuser), psql
    )


def models(server: Server, key: str, user_agent: str = "test") -> bytes:
    fields = [*Api.of(server).with_key(key).usual_fields, ("User-Agent", user_agent)]
    return request("GET", "/v1/models", fields)


def ask(server: Server, key: str) -> int:
    return Api.of(server).with_key(key).models().status


def is_whole(server: Server) -> bool:
    return readiness(server.ops_url) == (200, [])


def is_denied(server: Server) -> bool:
    status, problems = readiness(server.ops_url)
    return status == 200 and "InsufficientPrivilege" in " ".join(problems)


def test_the_api_does_all_of_its_work_with_its_own_role(installation, tmp_path):
    installation.run("account", "create", EMAIL, "--confirmed")
    key = installation.run("key", "create", EMAIL).strip()
    owner = installation.owner
    batch = JOURNAL_ROWS - 20
    settings = UNLIMITED | {"READBACK_DATABASE_URL": installation.api_url}
    with api_server(tmp_path, settings, key=key) as server:
        # Each request adds a row to the journal, which the second batch makes too long.
        for number in (1, 2):
            asked = [models(server, key, f"{number}.{n}") for n in range(batch)]
            assert pipeline(Api.of(server).endpoint, asked) == {200: batch}
            counted = {("models", ""): number * batch}
            wait_until(lambda c=counted: owner.usage(key) == c, "it is counted")
            installation.grant()
        assert "InsufficientPrivilege" not in (server.folder / "stderr").read_text()
        rows = owner.value("SELECT count(*) FROM cabinet_journalentry")
        assert 0 < rows < 2 * batch
        written = "last_used_at IS NOT NULL AND last_created IS NOT NULL"
        assert owner.value(f"SELECT {written} FROM cabinet_key")
        assert ask(server, keys.mint()) == 401

        owner.rows("UPDATE cabinet_user SET is_active = ?", False)
        wait_until(lambda: ask(server, key) == 401, "the account is inactive")
        owner.rows("UPDATE cabinet_user SET is_active = ?", True)
        wait_until(lambda: ask(server, key) == 200, "the account is active")

        owner.rows(f"REVOKE INSERT ON cabinet_usage FROM {API_ROLE}")
        wait_until(
            lambda: ask(server, key) == 200 and is_denied(server),
            "operators see which privilege is missing",
        )
        installation.grant()
        wait_until(lambda: is_whole(server), "usage is written again")

        owner.rows(f"REVOKE INSERT ON cabinet_unmatchedrequest FROM {API_ROLE}")
        wait_until(
            lambda: ask(server, keys.mint()) == 401 and is_denied(server),
            "operators see it for unmatched requests, too",
        )
        installation.grant()
        wait_until(
            lambda: ask(server, keys.mint()) == 401 and is_whole(server),
            "unmatched requests are written again",
        )

        key_id = owner.value("SELECT id FROM cabinet_key")
        installation.run("key", "revoke", str(key_id), "--yes")
        wait_until(lambda: ask(server, key) == 401, "the key is revoked")
        assert is_whole(server)


def test_the_role_can_delete_old_rows_and_unmatched_requests(installation):
    owner = installation.owner
    owner.add_keys(owner.add_account(EMAIL), [keys.mint()])
    owner.rows(
        "INSERT INTO cabinet_usage (key_id, hour, endpoint, code, requests)"
        " SELECT id, ?, 'chat', '', 1 FROM cabinet_key",
        owner.moment(-1000 * DAY),
    )
    made_up = ("192.0.2.1", "chat", "invalid_key", "No.", "curl/8")
    unmatched = "SELECT sum(requests) FROM cabinet_unmatchedrequest"
    store = Store(Config(database_url=installation.api_url))
    assert store.clean(time.time())
    for _ in range(2):
        store.write_unmatched({made_up: 1}, time.time())
    assert owner.value(unmatched) == 2
    store.delete_unmatched(time.time() + DAY)
    store.close()
    assert owner.value(unmatched) is None
    assert owner.value("SELECT count(*) FROM cabinet_usage") == 0


INSERT_KEY = """INSERT INTO cabinet_key (owner_id, label, digest, last_four, created_at)
SELECT owner_id, 'mine', sha256('x'), 'xxxx', now() FROM cabinet_key"""

FORBIDDEN = {
    "read e-mail addresses": "SELECT email FROM cabinet_user",
    "read confirmed e-mail addresses": "SELECT email FROM account_emailaddress",
    "read password hashes": "SELECT password FROM cabinet_user",
    "read names of keys": "SELECT label FROM cabinet_key",
    "read the networks of strangers": "SELECT network FROM cabinet_unmatchedrequest",
    "read the addresses of clients": "SELECT client_address FROM cabinet_journalentry",
    "create a key": INSERT_KEY,
    "un-revoke a key": "UPDATE cabinet_key SET revoked_at = NULL",
    "extend a key": "UPDATE cabinet_key SET expires_at = NULL",
    "give a key away": "UPDATE cabinet_key SET owner_id = 1",
    "delete a key": "DELETE FROM cabinet_key",
    "activate an account": "UPDATE cabinet_user SET is_active = true",
    "confirm an address": "UPDATE account_emailaddress SET verified = true",
    "change the network key": "UPDATE cabinet_networkkey SET key = 'x'",
    "rewrite the journal": "UPDATE cabinet_journalentry SET status = 200",
    "empty a table": "TRUNCATE cabinet_usage",
    "forget a migration": "DELETE FROM django_migrations",
    "create a table": "CREATE TABLE mine (id int)",
}


@pytest.mark.parametrize("deed", FORBIDDEN)
def test_the_role_cannot(installation_with_key, deed):
    with (
        psycopg.connect(installation_with_key.api_url) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(FORBIDDEN[deed])


def test_the_role_can_do_nothing_with_other_tables(installation_with_key):
    rows = installation_with_key.owner.rows(
        "SELECT DISTINCT table_name FROM information_schema.column_privileges"
        " WHERE grantee = ?",
        API_ROLE,
    )
    assert {name for (name,) in rows} == {
        *("django_migrations", "account_emailaddress", "cabinet_user", "cabinet_key"),
        *("cabinet_usage", "cabinet_journalentry", "cabinet_unmatchedrequest"),
        *("cabinet_networkkey", "cabinet_usagewriter"),
    }


def test_an_api_without_a_privilege_that_it_needs_does_not_start(
    installation, tmp_path
):
    """The doctor also reports it, and names the file that grants the privilege."""
    environment = environment_with(
        {
            "READBACK_DATABASE_URL": installation.api_url,
            "READBACK_API_BIND": f"127.0.0.1:{free_port()}",
            "READBACK_OPS_BIND": f"127.0.0.1:{free_port()}",
            "READBACK_DATA_DIR": str(tmp_path),
        }
    )
    done = run_command(environment, "doctor")
    assert (done.returncode, done.stdout.count("fail\t")) == (0, 0), done.stdout

    privileges = {
        "SELECT (expires_at) ON cabinet_key": "InsufficientPrivilege",
        "ALL ON ALL TABLES IN SCHEMA public": "permission denied",
    }
    for privilege, reason in privileges.items():
        installation.owner.rows(f"REVOKE {privilege} FROM {API_ROLE}")
        start = run_command(environment, "serve", "api")
        assert start.returncode == 3, start.stderr
        [sentence] = start.stderr.splitlines()
        done = run_command(environment, "doctor")
        lines = done.stdout.splitlines()
        [line] = [line for line in lines if line.startswith("fail\t")]
        assert done.returncode == 1
        for said in (sentence, line):
            assert reason in said and "deploy/postgresql/grants.sql" in said
