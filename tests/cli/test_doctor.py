"""`readback doctor`: settings, database, mail server, certificate, login provider."""

import json
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from readback.cli import checks
from readback.cli.checks import Doubt
from readback.cli.exit_codes import CannotStart
from readback.config import Config
from readback.setting_values import Bind
from tests.cli.program import Program
from tests.support.authority import DAY, Authority
from tests.support.commands import free_port
from tests.support.mailbox import mailbox
from tests.support.oidc_provider import oidc_provider


def diagnose(program: Program) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the exit code, and for each check its status and what was found."""
    done = program.run("doctor", "--json", "--offline")
    assert "Traceback" not in done.stderr
    report = json.loads(done.stdout)
    found = {line["check"]: (line["status"], line["found"]) for line in report}
    return done.returncode, found


def test_before_the_first_start_no_check_fails_and_no_file_is_created(program):
    code, results = diagnose(program)

    assert code == 0
    assert "fail" not in {status for status, _ in results.values()}
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


def test_each_invalid_setting_is_a_line_of_the_report(program):
    program.settings |= {
        "READBACK_KEY_RATE": "fast",
        "READBACK_WORKRES": "2",
        "READBACK_DATABASE_URL": "mysql://alice:hunter2@localhost/x",
    }

    done = program.run("doctor")

    assert (done.returncode, done.stderr) == (3, "")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["fail", "settings"]] * 3
    assert [row[2].split()[0] for row in rows] == [
        "READBACK_WORKRES",
        "READBACK_DATABASE_URL",
        "READBACK_KEY_RATE",
    ]
    assert "hunter2" not in done.stdout


def test_a_bad_file_of_the_brand_is_named_here_and_stops_a_start(program, tmp_path):
    (tmp_path / "brand.toml").write_text("x")
    program.settings["READBACK_BRAND_DIR"] = str(tmp_path)
    problem = (
        "READBACK_BRAND_DIR: 'brand.toml': Expected '=' after a key "
        "in a key/value pair (at end of document)."
    )

    code, results = diagnose(program)
    start = program.run("serve")

    assert (code, results) == (3, {"settings": ("fail", problem)})
    assert (start.returncode, start.stderr) == (3, f"Error: {problem}\n")


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
    assert "readback migrate" in results["database"][1]
    assert results["secret key"][0] == "warn"
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


def test_migrations_of_a_newer_version_are_a_warning(migrated):
    migrated.database.rows(
        "INSERT INTO django_migrations (app, name, applied) "
        "VALUES ('cabinet', '9999_newer', '2030-01-01')"
    )

    code, results = diagnose(migrated)

    assert (code, results["database"][0]) == (0, "warn")
    assert "newer version has applied cabinet.9999_newer" in results["database"][1]


def test_the_mail_server_is_contacted(program):
    with mailbox() as box:
        program.settings["READBACK_SMTP_URL"] = box.url
        code, results = diagnose(program)
    assert (code, results["mail"][0]) == (0, "ok")

    code, results = diagnose(program)
    assert (code, results["mail"][0]) == (1, "fail")
    assert "READBACK_SMTP_URL" in results["mail"][1]


def test_no_mail_server_is_a_warning_on_a_public_address():
    assert "no mail server" in checks.mail(Config())
    with pytest.raises(Doubt, match="READBACK_SMTP_URL"):
        checks.mail(Config(cabinet_bind=Bind("0.0.0.0", 0)))


def test_a_public_bind_without_a_public_url_is_a_warning(program):
    for name in ("API", "CABINET"):
        program.settings[f"READBACK_{name}_BIND"] = f"0.0.0.0:{free_port()}"
    code, results = diagnose(program)
    for setting in ("READBACK_PUBLIC_BASE_URL", "READBACK_CABINET_URL"):
        assert results[setting][0] == "warn" and setting in results[setting][1]
    assert code == 0

    program.settings["READBACK_CABINET_URL"] = "https://readback.example.com"
    _, results = diagnose(program)
    found = results["READBACK_CABINET_URL"]
    assert found == ("ok", "https://readback.example.com")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def config_with(issued: Path) -> Config:
    return Config(tls_certificate=issued, tls_key=issued)


def test_the_end_of_the_certificate_is_read(authority):
    good = config_with(authority.issue(since=-DAY, until=15 * DAY))
    assert "is valid until" in checks.certificate(good)
    soon = config_with(authority.issue(since=-DAY, until=13 * DAY + timedelta(hours=1)))
    with pytest.raises(Doubt, match="renew it"):
        checks.certificate(soon)
    ended = config_with(authority.issue(since=-9 * DAY, until=-DAY))
    with pytest.raises(CannotStart, match="expired on"):
        checks.certificate(ended)


def test_a_certificate_whose_end_is_unknown_is_not_said_to_have_expired(
    authority, tmp_path
):
    # The format of `openssl x509 -trustout`, which OpenSSL can use.
    trusted = authority.issue().read_bytes().replace(b"CERT", b"TRUSTED CERT")
    (tmp_path / "trusted.pem").write_bytes(trusted)

    found = checks.certificate(config_with(tmp_path / "trusted.pem"))

    assert found.endswith("can be served")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be used with the key .*: no such file"),
        (b"", "cannot be used with the key"),
        (b"another", "key values mismatch"),
    ],
)
def test_a_certificate_that_cannot_be_used_stops_a_start(
    authority, tmp_path, content: bytes | None, reason: str
):
    key = tmp_path / "key.pem"
    if content == b"another":
        content = authority.issue("other.example.com").read_bytes()
    if content is not None:
        key.write_bytes(content)
    with pytest.raises(CannotStart, match=reason) as caught:
        checks.certificate(Config(tls_certificate=authority.issue(), tls_key=key))
    assert str(key) in caught.value.message


def test_with_postgresql_and_a_secret_key_no_data_directory_is_needed():
    config = Config(
        data_dir=Path("/proc/nowhere"),
        database_url="postgresql://readback@database/readback",
        secret_key="x" * 60,
    )
    assert checks.secret_key(config) == "set in READBACK_SECRET_KEY"


def test_a_provider_that_answers_is_ok_with_the_url_to_register():
    with oidc_provider() as real:
        found = checks.provider(Config(oidc_issuer=real.issuer))
    assert "/accounts/oidc/callback/" in found


@pytest.mark.parametrize(
    ("port", "reason"),
    [(None, "its token_endpoint is not a URL with https"), (9, "cannot be used")],
)
def test_a_provider_that_is_down_or_not_to_be_trusted_fails(port, reason):
    class Documents(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            urls = dict.fromkeys(("authorization_endpoint", "jwks_uri"), origin)
            document = {"issuer": origin, "token_endpoint": "http://x.org/", **urls}
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(document).encode())

    with HTTPServer(("127.0.0.1", 0), Documents) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{port or server.server_port}"
        with pytest.raises(CannotStart, match=f"READBACK_OIDC_ISSUER.*{reason}"):
            checks.provider(Config(oidc_issuer=origin))
        server.shutdown()
