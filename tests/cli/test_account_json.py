"""`readback account` for programs: --json, --if-missing, and invitations."""

import json
from datetime import datetime

from readback.cli.account import account
from readback.cli.key import key
from tests.cli.program import Program

ALICE, BOB = "alice@example.org", "bob@example.org"
ACCOUNT_FIELDS = {
    "email",
    "active",
    "confirmed",
    "operator",
    "created_at",
    "last_login_at",
    "keys",
    "active_keys",
}


def as_json(program: Program, *arguments: str) -> object:
    """Run a command with --json; its standard output must be JSON and nothing else."""
    return json.loads(program.output("account", *arguments, "--json"))


def test_every_command_for_accounts_and_keys_has_the_option():
    commands = [*account.commands.values(), *key.commands.values()]
    without = [
        command.name
        for command in commands
        if not any("--json" in option.opts for option in command.params)
    ]
    assert len(commands) > 12
    assert without == []


def test_every_account_command_prints_json(migrated):
    created = as_json(migrated, "create", "Alice@example.org", "--confirmed")
    assert set(created) == ACCOUNT_FIELDS | {"created"}
    assert created["email"] == ALICE and created["created"] is True

    again = as_json(migrated, "create", ALICE, "--if-missing")
    assert again == created | {"created": False}
    refused = migrated.run("account", "create", ALICE, "--json")
    assert refused.returncode == 1 and refused.stdout == ""
    assert "already exists" in refused.stderr

    assert as_json(migrated, "deactivate", ALICE)["active"] is False
    assert as_json(migrated, "activate", ALICE)["active"] is True
    shown = as_json(migrated, "show", ALICE)
    assert shown == {name: created[name] for name in ACCOUNT_FIELDS}
    assert datetime.fromisoformat(shown["created_at"]).tzinfo
    deleted = as_json(migrated, "delete", ALICE, "--yes")
    assert deleted == {"email": ALICE, "deleted": True}


def test_a_person_is_invited_with_a_link(migrated):
    link = migrated.output("account", "invite", ALICE, "--link")
    assert "/accounts/password/reset/key/" in link
    assert as_json(migrated, "invite", BOB, "--link")["email"] == BOB
    again = migrated.run("account", "invite", ALICE, "--link")
    assert (again.returncode, again.stdout) == (1, "")
    assert "already exists" in again.stderr
    shown = as_json(migrated, "show", ALICE)
    assert shown["confirmed"] and shown["last_login_at"] is None


def test_inviting_needs_a_mail_server_or_the_link_option(migrated):
    done = migrated.run("account", "invite", ALICE)
    assert done.returncode == 1
    assert "READBACK_SMTP_URL" in done.stderr and "--link" in done.stderr
    assert migrated.run("account", "show", ALICE).returncode == 1

    mailing = Program(
        migrated.folder,
        {**migrated.settings, "READBACK_SMTP_URL": "smtp://127.0.0.1:9"},
    )
    done = mailing.run("account", "invite", ALICE, "--json")
    assert done.returncode == 0 and "sent as soon as" in done.stderr
    assert json.loads(done.stdout) == {"email": ALICE, "link": None}


def test_the_commands_obey_the_domains_of_the_setting(migrated):
    domains = Program(
        migrated.folder, {**migrated.settings, "READBACK_SIGNUP": "example.com"}
    )
    for command in (["create", ALICE], ["invite", ALICE, "--link"]):
        done = domains.run("account", *command)
        assert done.returncode == 1 and done.stdout == ""
        assert "READBACK_SIGNUP only allows addresses from example.com" in done.stderr


def test_the_first_operator_needs_no_shell(migrated_on_each_database):
    program = migrated_on_each_database
    made = as_json(program, "create", ALICE, "--confirmed", "--operator")
    assert made["operator"] is True
    assert as_json(program, "create", BOB, "--confirmed")["operator"] is False
    assert "last operator" in program.run("account", "operator", ALICE, "off").stderr
    assert as_json(program, "operator", BOB, "on")["operator"] is True
    assert as_json(program, "operator", ALICE, "off")["operator"] is False
    assert program.run("account", "operator", ALICE, "maybe").returncode == 2

    trail = [
        json.loads(line) for line in program.output("audit", "--json").splitlines()
    ]
    assert [(row["object"], row["change"]) for row in trail] == [
        (ALICE, "Made an operator by a command"),
        (BOB, "Made an operator by a command"),
        (ALICE, "No longer an operator, by a command"),
    ]
