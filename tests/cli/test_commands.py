"""The commands `readback account`, `key`, `migrate` and `manage`."""

from pathlib import Path

import pytest

from tests.cli.program import Program, key_in
from tests.cli.terminal import type_into
from tests.support.database import Database

ALICE = "alice@example.org"
PASSWORD = "correct horse battery staple"


@pytest.fixture
def with_alice(migrated: Program) -> Program:
    database = Path(migrated.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    Database(f"sqlite:///{database}").add_account(ALICE)
    return migrated


def shown(program: Program, email: str = ALICE) -> dict[str, str]:
    lines = program.output("account", "show", email).splitlines()
    return dict(line.split("\t") for line in lines)


def listed(program: Program, email: str = ALICE) -> list[list[str]]:
    lines = program.output("key", "list", email).splitlines()
    return [line.split("\t") for line in lines]


def state(program: Program) -> tuple[str, str]:
    lines = shown(program)
    return lines["active"], lines["confirmed"]


def test_an_account_can_be_created_deactivated_activated_and_deleted(
    migrated_on_each_database,
):
    program = migrated_on_each_database
    program.output("account", "create", ALICE)
    assert state(program) == ("yes", "no")

    program.output("account", "deactivate", ALICE)
    assert state(program)[0] == "no"

    program.output("account", "activate", "ALICE@example.org", "--confirmed")
    assert state(program) == ("yes", "yes")

    program.output("key", "create", ALICE)
    program.output("account", "delete", ALICE, "--yes")
    done = program.run("account", "show", ALICE)
    assert done.returncode == 1 and ALICE in done.stderr


def test_an_account_cannot_be_created_twice(with_alice):
    again = with_alice.run("account", "create", "Alice@Example.org")

    assert again.returncode == 1 and "already exists" in again.stderr


def test_a_password_can_be_read_from_standard_input(migrated):
    migrated.output("account", "create", ALICE, "--password-stdin", stdin=PASSWORD)
    check = (
        "from readback.cabinet.models import User;"
        f"print(User.objects.get().check_password({PASSWORD!r}))"
    )
    assert migrated.output("manage", "shell", "-v0", "-c", check).strip() == "True"


def test_a_weak_password_is_refused_and_not_repeated(migrated):
    weak = "hunter2"
    done = migrated.run("account", "create", ALICE, "--password-stdin", stdin=weak)

    assert done.returncode == 1 and "too short" in done.stderr
    assert weak not in done.stderr
    assert migrated.run("account", "show", ALICE).returncode == 1


def test_create_asks_for_a_password_and_does_not_show_it(migrated):
    code, screen = type_into(
        migrated,
        ["account", "create", ALICE, "--confirmed"],
        ("Password (leave empty for none)", PASSWORD),
        ("Repeat", PASSWORD),
    )
    assert code == 0 and ALICE in screen
    assert PASSWORD not in screen


def test_standard_output_has_the_new_key_and_nothing_else(with_alice):
    done = with_alice.run("key", "create", ALICE, "--name", "laptop")

    assert done.returncode == 0
    assert done.stdout == f"{key_in(done.stdout)}\n"
    assert "not shown again" in done.stderr and "sk-echo-" not in done.stderr


def test_the_list_of_keys_does_not_contain_the_keys(with_alice):
    first = with_alice.output("key", "create", ALICE, "--name", "laptop").strip()
    second = with_alice.output("key", "create", ALICE, "--expires-in", "30d").strip()

    rows = listed(with_alice)

    assert [row[2] for row in rows] == ["active", "active"]
    assert [row[6] for row in rows] == ["", "laptop"]
    assert rows[0][4] != "-" and rows[1][4] == "-"
    assert [row[1][-4:] for row in rows] == [second[-4:], first[-4:]]
    assert first not in str(rows) and second not in str(rows)


def test_a_key_stays_revoked_when_it_is_revoked_again(with_alice):
    with_alice.output("key", "create", ALICE)
    [[number, *_]] = listed(with_alice)

    with_alice.output("key", "revoke", number, "--yes")
    with_alice.output("key", "revoke", number, "--yes")

    assert listed(with_alice)[0][2] == "revoked"
    assert with_alice.run("key", "revoke", "999", "--yes").returncode == 1


def test_an_invalid_duration_is_a_usage_error(with_alice):
    for value in ("", "0s", "-1d", "30", "1w", "1.5h", "٣d", "1d2h"):
        done = with_alice.run("key", "create", ALICE, "--expires-in", value)

        assert done.returncode == 2 and "--expires-in" in done.stderr, value
    assert listed(with_alice) == []


def test_a_duration_beyond_the_calendar_is_a_usage_error(with_alice):
    done = with_alice.run("key", "create", ALICE, "--expires-in", "999999999d")

    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_an_unconfirmed_account_gets_no_key(migrated):
    migrated.output("account", "create", ALICE)
    done = migrated.run("key", "create", ALICE)

    assert done.returncode == 1 and done.stdout == ""
    assert "not confirmed" in done.stderr


@pytest.mark.parametrize(
    "command", [["account", "delete", ALICE], ["key", "revoke", "1"]], ids=" ".join
)
def test_a_command_that_cannot_be_undone_asks_first(with_alice, command):
    with_alice.output("key", "create", ALICE)
    assert with_alice.run(*command).returncode == 2  # no terminal to ask on

    code, screen = type_into(with_alice, command, ("[y/N]", "n"))
    assert code == 1
    assert listed(with_alice)[0][2] == "active"

    code, screen = type_into(with_alice, command, ("[y/N]", "y"))
    assert code == 0


def test_a_name_in_a_table_is_not_interpreted_as_markup(with_alice):
    with_alice.output("key", "create", ALICE, "--name", "[bold]x[/bold]")

    code, screen = type_into(with_alice, ["key", "list", ALICE])

    assert code == 0
    assert "last used" in screen and "[bold]x[/bold]" in screen


def test_manage_runs_django_commands(migrated):
    assert "[X] 0001_initial" in migrated.output("manage", "showmigrations", "cabinet")
    assert "createsuperuser" in migrated.output("manage", "help")
