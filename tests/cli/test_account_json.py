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
INVITATION_FIELDS = {
    "email",
    "state",
    "invited_by",
    "created_at",
    "expires_at",
    "accepted_at",
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


def test_people_are_invited_listed_and_uninvited(migrated):
    link = migrated.output("account", "invite", ALICE, "--link", "--days", "3")
    assert link.count("\n") == 1 and "/accounts/invitation/" in link
    invited = as_json(migrated, "invite", BOB, "--link")
    assert set(invited) == INVITATION_FIELDS | {"mail", "link"}
    assert invited["mail"] is False and invited["state"] == "open"
    assert invited["link"].startswith("http")

    listed = as_json(migrated, "invitations")
    assert [each["email"] for each in listed] == [BOB, ALICE]
    assert set(listed[0]) == INVITATION_FIELDS
    lines = migrated.output("account", "invitations").splitlines()
    assert lines[1].split("\t")[:3] == [ALICE, "open", "-"]
    assert "/accounts/invitation/" not in str(listed) + str(lines)

    assert as_json(migrated, "uninvite", BOB) == {"email": BOB, "withdrawn": True}
    gone = migrated.run("account", "uninvite", BOB)
    assert gone.returncode == 1 and "no invitation" in gone.stderr


def test_inviting_needs_a_mail_server_or_the_link_option(migrated):
    assert migrated.run("account", "invite", ALICE, "--days", "91").returncode == 2
    done = migrated.run("account", "invite", ALICE)
    assert done.returncode == 1
    assert "READBACK_SMTP_URL" in done.stderr and "--link" in done.stderr
    assert as_json(migrated, "invitations") == []

    mailing = Program(
        migrated.folder,
        {**migrated.settings, "READBACK_SMTP_URL": "smtp://127.0.0.1:9"},
    )
    done = mailing.run("account", "invite", ALICE, "--json")
    assert done.returncode == 0 and "sent as soon as" in done.stderr
    invited = json.loads(done.stdout)
    assert invited["mail"] is True and invited["link"] is None


def test_the_commands_obey_the_domains_of_the_setting(migrated):
    domains = Program(
        migrated.folder, {**migrated.settings, "READBACK_SIGNUP": "example.com"}
    )
    for command in (["create", ALICE], ["invite", ALICE, "--link"]):
        done = domains.run("account", *command)
        assert done.returncode == 1 and done.stdout == ""
        assert "READBACK_SIGNUP only allows addresses from example.com" in done.stderr


def test_a_list_of_people_is_invited_from_standard_input(migrated):
    listed = f"name,email\nA,{ALICE}\nB,bob@\nC,{ALICE}\n"
    done = migrated.run("account", "invite", "-", "--link", stdin=listed)
    assert done.returncode == 1
    email, link = done.stdout.rstrip("\n").split("\t")
    assert email == ALICE and "/accounts/invitation/" in link
    assert "Line 3: bob@ Enter a valid e-mail address." in done.stderr
    assert "Invited: 1. Left alone: 1. Wrong: 1." in done.stderr

    arguments = ("account", "invite", "-", "--link", "--json")
    again = json.loads(migrated.output(*arguments, stdin=f"{ALICE}\n{BOB}\n"))
    assert [each["outcome"] for each in again] == ["already_invited", "invited"]
    assert set(again[0]) == {"line", "email", "outcome", "problem", "link"}
    assert again[0]["link"] is None and again[1]["link"]
    too_long = migrated.run("account", "invite", "-", "--link", stdin="x" * (1 << 21))
    assert too_long.returncode == 1 and "too long" in too_long.stderr
    assert migrated.output(*arguments, stdin="") == "[]\n"
