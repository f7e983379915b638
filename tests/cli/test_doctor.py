"""The checks of `readback doctor` and the actions it suggests."""

import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.program import Program
from tests.support.bad_mail_servers import server_that_is_down
from tests.support.commands import free_port
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


def test_a_mail_that_has_waited_for_a_minute_is_a_warning(on_each_database):
    program = on_each_database
    program.output("migrate")
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
    assert re.search(r"the oldest for 36\d\d s", results["outbox"][1])


AGE_THE_OUTBOX = """
from datetime import timedelta
from django.db.models import F
from readback.cabinet.models import OutgoingMail

OutgoingMail.objects.update(created_at=F("created_at") - timedelta(hours=1))
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


def test_a_secret_key_readable_by_other_users_fails(program):
    program.output("migrate")
    path = Path(program.settings["READBACK_DATA_DIR"]) / "secret-key"
    os.chmod(path, 0o644)

    code, results = diagnose(program)

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
