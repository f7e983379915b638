"""`readback doctor`: what it finds, and what it says to do."""

import os
import socket
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.support.mailbox import mailbox


def findings(program: Program) -> tuple[int, dict[str, tuple[str, str, str]]]:
    """The exit code, and for each subject its state, sentence and hint."""
    done = program.run("doctor")
    assert "Traceback" not in done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return done.returncode, {what: (s, found, hint) for s, what, found, hint in rows}


def test_before_the_first_start_nothing_fails_and_nothing_is_made(program):
    code, found = findings(program)

    assert code == 0
    assert "fail" not in {state for state, *_ in found.values()}
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


def test_after_migrating_the_database_is_up_to_date(on_each_database):
    on_each_database.said("migrate")

    code, found = findings(on_each_database)

    assert code == 0
    assert found["database"][0] == "ok" and "up to date" in found["database"][1]


def test_a_database_that_is_not_migrated_is_a_warning_with_the_command(
    program, postgresql
):
    program.settings["READBACK_DATABASE_URL"] = postgresql.new_database()

    code, found = findings(program)

    assert code == 0
    assert found["database"][0] == "warn"
    assert "readback migrate" in found["database"][2]
    assert found["secret key"][0] == "warn"
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


def test_a_database_that_is_away_fails_without_its_password(program):
    program.settings["READBACK_DATABASE_URL"] = "postgresql://a:hunter2@127.0.0.1:9/x"

    code, found = findings(program)

    assert code == 1
    assert found["database"][0] == "fail"
    assert "hunter2" not in str(found)


def test_a_mail_server_is_asked(program):
    with mailbox() as box:
        program.settings["READBACK_SMTP_URL"] = box.url
        code, found = findings(program)
    assert (code, found["mail"][0]) == (0, "ok")

    code, found = findings(program)
    assert (code, found["mail"][0]) == (1, "fail")
    assert "READBACK_SMTP_URL" in found["mail"][2]


@pytest.mark.parametrize(
    ("bind", "state"), [("127.0.0.1:0", "ok"), ("0.0.0.0:0", "warn")]
)
def test_no_mail_server_is_a_warning_where_others_wait_for_mails(program, bind, state):
    program.settings["READBACK_CABINET_BIND"] = bind

    code, found = findings(program)

    assert (code, found["mail"][0]) == (0, state)


def test_an_address_in_use_is_a_warning(program):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        program.settings["READBACK_OPS_BIND"] = address
        code, found = findings(program)

    assert code == 0
    assert found["READBACK_OPS_BIND"][0] == "warn"
    assert address in found["READBACK_OPS_BIND"][1]


def test_an_address_that_cannot_be_used_fails(program):
    program.settings["READBACK_API_BIND"] = "192.0.2.1:80"

    code, found = findings(program)

    assert (code, found["READBACK_API_BIND"][0]) == (1, "fail")


def test_trying_a_unix_socket_leaves_no_file(program, tmp_path):
    program.settings["READBACK_API_BIND"] = f"unix:{tmp_path}/socket"

    code, found = findings(program)

    assert (code, found["READBACK_API_BIND"][0]) == (0, "ok")
    assert not (tmp_path / "socket").exists()


def test_a_secret_that_others_can_read_fails(program):
    program.said("migrate")
    os.chmod(Path(program.settings["READBACK_DATA_DIR"]) / "secret-key", 0o644)

    code, found = findings(program)

    assert (code, found["secret key"][0]) == (1, "fail")


@pytest.mark.parametrize("bind", ["READBACK_API_BIND", "READBACK_CABINET_BIND"])
def test_a_public_address_that_is_not_told_is_a_warning(program, bind):
    program.settings[bind] = "0.0.0.0:0"

    code, found = findings(program)

    assert code == 0 and found["addresses"][0] == "warn"


def test_a_certificate_that_cannot_be_used_fails(program, tmp_path):
    (tmp_path / "pem").write_text("not a certificate")
    for name in ("READBACK_TLS_CERTIFICATE", "READBACK_TLS_KEY"):
        program.settings[name] = str(tmp_path / "pem")

    code, found = findings(program)

    assert (code, found["certificate"][0]) == (1, "fail")
