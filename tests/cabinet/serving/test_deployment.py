"""Production settings: Django's checks, a missing mail server, errors, host names."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from readback.cabinet.mail import backends
from readback.config import Config
from readback.setting_values import Bind
from tests.support.cabinet_server import cabinet_server
from tests.support.commands import environment_with, run_command
from tests.support.waiting import wait_until

PUBLIC = {
    "READBACK_CABINET_URL": "https://cabinet.example.org",
    "READBACK_SMTP_URL": "smtp://user:secret@mail.example.org:587",
    "READBACK_TRUSTED_PROXY_COUNT": "1",
}


def check(folder: Path, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = environment_with({"READBACK_DATA_DIR": str(folder), **settings})
    command = ["manage", "check", "--deploy", "--fail-level", "WARNING"]
    return run_command(environment, *command)


def test_djangos_checks_report_nothing_in_production(tmp_path):
    done = check(tmp_path, PUBLIC)

    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("config", "missing"),
    [
        (Config(), False),
        (Config(cabinet_bind=Bind("0.0.0.0", 8001)), True),
        (Config(cabinet_url="https://cabinet.example.org"), True),
        (Config(cabinet_url="http://localhost:8001"), False),
        (Config(cabinet_bind=Bind("", 0, "/run/cabinet.sock")), True),
        (
            Config(cabinet_bind=Bind("0.0.0.0", 8001), smtp_url="smtp://mail.example"),
            False,
        ),
    ],
)
def test_a_mail_server_is_missing_only_if_the_cabinet_is_public(config, missing):
    assert backends.server_is_missing(config) is missing


def drop_all_tables(path):
    statement = "SELECT name FROM sqlite_schema WHERE type = 'table'"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as database:
        names = [name for (name,) in database.execute(statement)]
        for name in names:
            if not name.startswith("sqlite_"):
                database.execute(f'DROP TABLE "{name}"')


def test_an_error_is_described_in_the_log_and_not_on_the_page(tmp_path):
    """The tables are deleted while the server runs; the page shows no details."""
    with cabinet_server(tmp_path, {}) as server:
        before = httpx.get(f"{server.url}/accounts/login/", timeout=60, verify=False)
        assert before.status_code == 200
        drop_all_tables(tmp_path / "data" / "readback.sqlite3")
        session = {"cookie": "session=abcdefghijklmnopqrstuvwxyz012345"}
        failed = httpx.get(
            f"{server.url}/account/", headers=session, timeout=60, verify=False
        )

        assert failed.status_code == 500
        assert "Something went wrong" in failed.text
        for word in ("Traceback", "sqlite", "OperationalError", "django"):
            assert word not in failed.text
        assert "content-security-policy" in failed.headers
        link = "/accounts/password/reset/key/1-d5bk5n-0123456789abcdef/"
        assert httpx.get(server.url + link, timeout=60, verify=False).status_code == 500
        wait_until(
            lambda: "Internal Server Error: accounts/" in server.stderr,
            "the log has the error",
        )
        assert "OperationalError" in server.stderr
        assert "0123456789abcdef" not in server.stderr


@pytest.mark.parametrize(
    ("url", "right", "wrong"),
    [
        ("http://[2001:DB8:0:0::1]:8001", "[2001:db8::1]:8001", "[2001:db8::2]:8001"),
        ("http://Почта.example", "xn--80a1acny.example", "xn--e1afmkfd.example"),
    ],
    ids=["IPv6", "other letters"],
)
def test_a_cabinet_is_reached_by_the_host_that_browsers_send(
    tmp_path, url, right, wrong
):
    with cabinet_server(tmp_path, {"READBACK_CABINET_URL": url}) as server:
        for host, status in ((right, 200), (wrong, 400)):
            answer = httpx.get(f"{server.url}/", headers={"Host": host})
            assert answer.status_code == status, host
