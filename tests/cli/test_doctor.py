"""The checks of `readback doctor` and the actions it suggests."""

import json
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import psycopg
import pytest

from readback import keys
from readback.cli.doctor import files, network
from readback.config import DATABASE_NAME, Config
from readback.setting_values import Bind
from tests.cli.program import Program
from tests.support.bad_mail_servers import server_that_is_down
from tests.support.commands import free_port
from tests.support.database import Database
from tests.support.mailbox import mailbox


def diagnose(program: Program) -> tuple[int, dict[str, tuple[str, str, str]]]:
    """Return the exit code, and for each subject its status, finding and action."""
    done = program.run("doctor")
    assert "Traceback" not in done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    results = {
        subject: (status, found, action) for status, subject, found, action in rows
    }
    return done.returncode, results


def test_before_the_first_start_no_check_fails_and_no_file_is_created(program):
    code, results = diagnose(program)

    assert code == 0
    assert "fail" not in {status for status, *_ in results.values()}
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


def test_each_invalid_setting_is_a_line_of_the_report(program):
    program.settings |= {
        "READBACK_KEY_RATE": "fast",
        "READBACK_WORKRES": "2",
        "READBACK_DATABASE_URL": "mysql://alice:hunter2@localhost/x",
    }

    done = program.run("doctor")

    assert (done.returncode, done.stderr) == (1, "")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["fail", "settings"]] * 3
    assert [row[2].split()[0] for row in rows] == [
        "READBACK_WORKRES",
        "READBACK_DATABASE_URL",
        "READBACK_KEY_RATE",
    ]
    assert all("docs/settings.md" in row[3] for row in rows)
    assert "hunter2" not in done.stdout


def test_a_bad_file_of_the_brand_is_named_here_and_stops_a_start(program, tmp_path):
    (tmp_path / "brand.toml").write_text("x")
    program.settings["READBACK_BRAND_DIR"] = str(tmp_path)
    problem = (
        "READBACK_BRAND_DIR: 'brand.toml' is not valid TOML: Expected '=' after a key "
        "in a key/value pair (at end of document)."
    )

    code, results = diagnose(program)
    start = program.run("serve")

    assert code == 1
    assert list(results) == ["settings"]
    assert results["settings"][:2] == ("fail", problem)
    assert "docs/branding.md" in results["settings"][2]
    assert (start.returncode, start.stderr) == (3, f"Error: {problem}\n")


def test_the_report_for_programs_is_a_list_of_objects(migrated):
    report = json.loads(migrated.output("doctor", "--json"))

    assert {tuple(line) for line in report} == {("status", "check", "found", "action")}
    assert ["ok", "clock"] in [[line["status"], line["check"]] for line in report]


def test_after_migrating_the_database_is_up_to_date(on_each_database):
    on_each_database.output("migrate")

    code, results = diagnose(on_each_database)

    assert code == 0
    assert results["database"][0] == "ok" and "up to date" in results["database"][1]


def test_an_unmigrated_database_is_a_warning_with_the_command_to_run(
    program, postgresql
):
    program.settings["READBACK_DATABASE_URL"] = postgresql.new_database()

    code, results = diagnose(program)

    assert code == 0
    assert results["database"][0] == "warn"
    assert "readback migrate" in results["database"][2]
    assert results["secret key"][0] == "warn"
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


def test_an_unreachable_database_fails_without_showing_its_password(program):
    program.settings["READBACK_DATABASE_URL"] = "postgresql://a:hunter2@127.0.0.1:9/x"

    code, results = diagnose(program)

    assert code == 1
    assert results["database"][0] == "fail"
    assert "hunter2" not in str(results)


def test_the_mail_server_is_contacted(program):
    with mailbox() as box:
        program.settings["READBACK_SMTP_URL"] = box.url
        code, results = diagnose(program)
    assert (code, results["mail"][0]) == (0, "ok")

    code, results = diagnose(program)
    assert (code, results["mail"][0]) == (1, "fail")
    assert "READBACK_SMTP_URL" in results["mail"][2]


def test_a_mail_that_has_waited_for_a_minute_is_a_warning(migrated_on_each_database):
    program = migrated_on_each_database
    _code, results = diagnose(program)
    assert results["outbox"][:2] == ("ok", "no e-mail is waiting")

    with server_that_is_down() as url:
        program.settings["READBACK_SMTP_URL"] = url
        program.output("account", "create", "alice@example.org", "--confirmed")
        program.output("key", "create", "alice@example.org")
        _code, results = diagnose(program)
        assert results["outbox"][0] == "ok"
        assert "waiting: 1" in results["outbox"][1]

        program.output("manage", "shell", "-c", AGE_THE_OUTBOX)
        _code, results = diagnose(program)
    assert results["outbox"][0] == "warn"
    assert re.search(r"the oldest for 36\d\d s.*refused: 2", results["outbox"][1])


AGE_THE_OUTBOX = """
from datetime import timedelta
from django.db.models import F
from readback.cabinet.models import MailTotal, OutgoingMail

OutgoingMail.objects.update(created_at=F("created_at") - timedelta(hours=1))
MailTotal.objects.create(outcome="refused", mails=2)
"""


@pytest.mark.parametrize(
    ("bind", "status"), [("127.0.0.1:0", "ok"), ("0.0.0.0:0", "warn")]
)
def test_no_mail_server_is_a_warning_on_a_public_address(program, bind, status):
    program.settings["READBACK_CABINET_BIND"] = bind

    code, results = diagnose(program)

    assert (code, results["mail"][0]) == (0, status)


def test_an_address_in_use_is_a_warning(program):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        program.settings["READBACK_OPS_BIND"] = address
        code, results = diagnose(program)

    assert code == 0
    assert results["READBACK_OPS_BIND"][0] == "warn"
    assert address in results["READBACK_OPS_BIND"][1]


def test_an_address_of_another_machine_fails(program):
    program.settings["READBACK_API_BIND"] = "192.0.2.1:80"

    code, results = diagnose(program)

    assert (code, results["READBACK_API_BIND"][0]) == (1, "fail")


def test_checking_a_unix_socket_leaves_no_file(program, tmp_path):
    program.settings["READBACK_API_BIND"] = f"unix:{tmp_path}/socket"

    code, results = diagnose(program)

    assert (code, results["READBACK_API_BIND"][0]) == (0, "ok")
    assert not (tmp_path / "socket").exists()


def test_a_secret_key_readable_by_other_users_fails(migrated):
    path = Path(migrated.settings["READBACK_DATA_DIR"]) / "secret-key"
    path.write_text("x" * 60)
    os.chmod(path, 0o644)

    code, results = diagnose(migrated)

    assert (code, results["permissions"][0]) == (1, "fail")
    assert results["permissions"][2] == f"Run chmod go= {path}"


@pytest.mark.parametrize("bind", ["READBACK_API_BIND", "READBACK_CABINET_BIND"])
def test_a_public_bind_without_a_public_url_is_a_warning(program, bind):
    program.settings[bind] = "0.0.0.0:0"

    code, results = diagnose(program)

    assert code == 0 and results["addresses"][0] == "warn"


def test_an_invalid_certificate_fails(program, tmp_path):
    (tmp_path / "pem").write_text("not a certificate")
    for name in ("READBACK_TLS_CERTIFICATE", "READBACK_TLS_KEY"):
        program.settings[name] = str(tmp_path / "pem")

    code, results = diagnose(program)

    assert (code, results["certificate"][0]) == (1, "fail")
    assert f"{tmp_path}/pem contains no certificate" in results["certificate"][1]


def test_a_secret_that_every_user_can_read_fails(program):
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        public, private = Path(folder, "a secret"), Path(folder, "private")
        for path in (public, private):
            path.write_text("smtp://127.0.0.1:9" if path == public else "x" * 60)
        os.chmod(public, 0o644)
        os.chmod(private, 0o640)
        program.settings |= {
            "READBACK_SMTP_URL_FILE": str(public),
            "READBACK_SECRET_KEY_FILE": str(private),
        }
        code, results = diagnose(program)

    assert (code, results["secret files"][0]) == (1, "fail")
    assert results["secret files"][2] == f"Run chmod o= '{public}'"


def test_the_settings_of_the_units_must_be_private(tmp_path, monkeypatch):
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        file = Path(folder, "environment")
        file.touch(0o644)
        monkeypatch.setattr(files, "ENVIRONMENT_FILES", (file, tmp_path / "missing"))
        [result] = files.secret_files(Config())
        assert (result.status, result.action) == ("fail", f"Run chmod o= {file}")

        os.chmod(folder, 0o700)
        assert list(files.secret_files(Config())) == []


def test_the_secrets_of_a_container_may_be_readable_there(monkeypatch):
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        secret = Path(folder, "secret-key")
        secret.touch(0o644)
        monkeypatch.setenv("READBACK_SECRET_KEY_FILE", str(secret))
        assert [row.status for row in files.secret_files(Config())] == ["fail"]

        monkeypatch.setattr(files, "CONTAINER_SECRETS", Path(folder))
        assert [row.status for row in files.secret_files(Config())] == ["ok"]


def test_with_postgresql_and_a_secret_key_no_data_directory_is_needed():
    config = Config(
        data_dir=Path("/proc/nowhere"),
        database_url="postgresql://readback@database/readback",
        secret_key="x" * 60,
    )
    assert [row.status for row in files.data_directory(config)] == ["ok"]


def test_the_ops_address_of_another_machine_is_a_warning():
    """Where only the cabinet runs, it is the address of the API."""
    config = Config(ops_bind=Bind("203.0.113.7", 8002))
    [result] = [row for row in network.binds(config) if "OPS" in row.check]
    assert result.status == "warn"


def test_a_clock_behind_the_newest_key_is_a_warning(migrated):
    file = Path(migrated.settings["READBACK_DATA_DIR"]) / DATABASE_NAME
    database = Database(f"sqlite:///{file}")
    database.add_keys(database.add_account("alice@example.org"), [keys.mint()])
    database.rows("UPDATE cabinet_key SET created_at = ?", database.moment(3600))

    code, results = diagnose(migrated)

    assert (code, results["clock"][0]) == (0, "warn")
    assert re.match(r"it is 3[56]\d\d s behind the newest", results["clock"][1])


# A function of the same name that is found first, because no test can set the clock of
# the server alone.
OTHER_CLOCK = """
CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
AS $$ SELECT pg_catalog.clock_timestamp() + interval '90 seconds' $$;
"""


def test_a_database_server_with_another_time_or_read_only_fails(program, postgresql):
    url = postgresql.migrated_database()
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(OTHER_CLOCK)
    postgresql.execute(f"ALTER DATABASE {name} SET search_path = public, pg_catalog")
    program.settings["READBACK_DATABASE_URL"] = url

    code, results = diagnose(program)

    assert (code, results["clock"][0]) == (1, "fail")
    # An answer that takes seconds makes the difference less exact.
    assert re.fullmatch(
        r"it is (8[5-9]|9[0-5]) s behind the clock of the database server",
        results["clock"][1],
    )
    status, found, action = results["database role"]
    assert status == "warn" and "superuser" in found
    assert "deploy/postgresql" in action

    postgresql.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    code, results = diagnose(program)

    assert (code, results["database role"][0]) == (1, "fail")
    assert "default_transaction_read_only" in results["database role"][1]
    assert results["storage"][0] == "fail"


def test_a_provider_that_answers_is_ok_with_the_url_to_register(program):
    port = free_port()
    with provider_at(port, issuer=f"http://127.0.0.1:{port}"):
        use_provider(program, port)
        code, results = diagnose(program)

    status, found, _ = results["single sign-on"]
    assert (code, status) == (0, "ok")
    assert "/accounts/oidc/callback/" in found


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"issuer": "https://mallory.example"}, "another issuer"),
        ({"token_endpoint": "http://example.org/token"}, "token_endpoint"),
    ],
)
def test_a_provider_that_must_not_be_trusted_fails(program, changes, reason):
    port = free_port()
    with provider_at(port, **{"issuer": f"http://127.0.0.1:{port}"} | changes):
        use_provider(program, port)
        code, results = diagnose(program)

    status, found, action = results["single sign-on"]
    assert (code, status) == (1, "fail")
    assert reason in found and "READBACK_OIDC_ISSUER" in action
    assert "a secret of the client" not in str(results)


def test_a_provider_that_is_down_fails(program):
    use_provider(program, free_port())
    code, results = diagnose(program)

    assert code == 1 and results["single sign-on"][0] == "fail"


def use_provider(program: Program, port: int) -> None:
    program.settings |= {
        "READBACK_OIDC_ISSUER": f"http://127.0.0.1:{port}",
        "READBACK_OIDC_CLIENT_ID": "readback",
        "READBACK_OIDC_CLIENT_SECRET": "a secret of the client",
    }


@contextmanager
def provider_at(port: int, **changes: str) -> Iterator[None]:
    """Serve the documents of a provider, without anything behind them."""
    origin = f"http://127.0.0.1:{port}"
    document = {
        "authorization_endpoint": f"{origin}/login",
        "token_endpoint": f"{origin}/token",
        "jwks_uri": f"{origin}/keys",
        "keys": [],
        **changes,
    }

    class Documents(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with HTTPServer(("127.0.0.1", port), Documents) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@pytest.mark.parametrize("content", [b"", b"x", b"\xff" * 64], ids=repr)
def test_a_damaged_secret_key_fails(migrated, content):
    path = Path(migrated.settings["READBACK_DATA_DIR"], "secret-key")
    path.write_bytes(content)
    path.chmod(0o600)

    code, results = diagnose(migrated)

    status, found, action = results["secret key"]
    assert (code, status) == (1, "fail")
    assert f"{path} is damaged" in found and "backup" in action


def test_migrations_of_a_newer_version_are_a_warning(migrated):
    file = Path(migrated.settings["READBACK_DATA_DIR"]) / DATABASE_NAME
    Database(f"sqlite:///{file}").rows(
        "INSERT INTO django_migrations (app, name, applied) "
        "VALUES ('cabinet', '9999_newer', '2030-01-01')"
    )

    code, results = diagnose(migrated)

    status, found, action = results["database"]
    assert (code, status) == (0, "warn")
    assert "newer version has applied cabinet.9999_newer" in found
    assert "up to date" not in found and "newer version" in action


@pytest.mark.parametrize("place", [0, 4096], ids=["the beginning", "a page"])
def test_a_damaged_sqlite_file_is_to_be_restored(migrated, place):
    file = Path(migrated.settings["READBACK_DATA_DIR"]) / DATABASE_NAME
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(b"\xa5" * 100)

    code, results = diagnose(migrated)

    status, found, action = results["database"]
    assert (code, status) == (1, "fail")
    assert str(file) in found or "not a database" in found or "malformed" in found
    assert "backup" in action and "running" not in action


def test_an_almost_full_disk_is_a_warning(tmp_path, monkeypatch):
    for free, status in ((999_999, "fail"), (999_999_999, "warn"), (10**9, "ok")):
        usage = shutil._ntuple_diskusage(10**12, 0, free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, u=usage: u)
        [result] = files.disk(Config(data_dir=tmp_path))
        assert result.status == status


def test_a_role_without_any_privilege_is_told_which_file_gives_them(
    program, postgresql
):
    url = postgresql.migrated_database()
    role = f"nobody_{secrets.token_hex(4)}"  # roles belong to the whole server
    postgresql.execute(f"CREATE ROLE {role} LOGIN")
    parts = psycopg.conninfo.conninfo_to_dict(url)
    program.settings["READBACK_DATABASE_URL"] = (
        f"postgresql:///{parts['dbname']}?host={parts['host']}"
        f"&port={parts.get('port', 5432)}&user={role}"
    )

    code, results = diagnose(program)
    done = program.run("serve", "api")

    assert code == 1
    for check in ("database role", "database"):
        assert "deploy/postgresql/grants.sql" in " ".join(results[check])
    assert done.returncode == 3
    assert "deploy/postgresql/grants.sql" in done.stderr


def test_the_same_address_twice_is_a_line_of_the_report():
    same = Bind("127.0.0.1", 8000)
    [twice] = [
        row
        for row in network.binds(Config(api_bind=(same,), ops_bind=same))
        if row.check == "addresses to listen on"
    ]
    assert twice.status == "fail" and "READBACK_OPS_BIND" in twice.found
    [other] = [
        row
        for row in network.binds(Config(api_bind=(same,), cabinet_bind=same))
        if row.check == "addresses to listen on"
    ]
    assert other.status == "warn" and "one plane" in other.action


def test_a_data_directory_that_is_a_file_fails(tmp_path):
    (tmp_path / "file").touch()
    [result] = files.data_directory(Config(data_dir=tmp_path / "file"))
    assert result.status == "fail"
    assert result.found == f"{tmp_path}/file is a file, and must be a directory"


def test_a_security_log_that_cannot_be_written_fails(tmp_path):
    def check(path: Path) -> list[tuple[str, str]]:
        results = files.security_log(Config(security_log=str(path)))
        return [(result.status, result.found) for result in results]

    log = tmp_path / "security.jsonl"
    assert check(log) == [("ok", f"{log} can be created")]
    assert not log.exists()
    log.touch()
    assert check(log) == [("ok", f"{log} is writable")]
    missing = tmp_path / "missing"
    found = f"the directory {missing} does not exist"
    assert check(missing / "log") == [("fail", found)]
    assert check(tmp_path) == [("fail", f"{tmp_path} is not a regular file")]
    assert not list(files.security_log(Config(security_log="syslog:")))
    assert not list(files.security_log(Config()))
