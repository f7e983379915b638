"""`readback account`, `key`, `audit` and `manage`, for people and programs.

tests/cabinet tests the effects of commands on accounts and keys. These tests are about
what the commands read, print, refuse and log.
"""

import json
import socket
import stat
from datetime import datetime
from typing import Any

import pytest

from readback import keys
from readback.cli.account import account
from readback.cli.key import key
from tests.cli.conftest import ALICE
from tests.cli.program import Program, key_in
from tests.cli.terminal import type_into
from tests.support.commands import environment_with, run_command
from tests.support.waiting import PATIENCE

BOB = "bob@example.org"
PASSWORD = "correct horse battery staple"
# The fields that docs/cli.md promises for every account and key.
ACCOUNT_FIELDS = {
    *("email", "active", "confirmed", "operator", "created_at", "last_login_at"),
    *("keys", "active_keys"),
}
KEY_FIELDS = {
    *("id", "name", "masked", "state", "created_at", "expires_at", "revoked_at"),
    *("last_used_at", "explains_refusals", "rehearsal", "replaced_by"),
}


def answer(program: Program, *arguments: str) -> Any:
    """Run a command with --json; its standard output must be JSON and nothing else."""
    return json.loads(program.output(*arguments, "--json"))


def refusal(program: Program, *arguments: str, code: int = 1, stdin: str = "") -> str:
    """Run a command that must fail and print no result; return its sentence."""
    done = program.run(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_every_command_for_accounts_and_keys_prints_json_if_asked():
    commands = [*account.commands.values(), *key.commands.values()]
    assert len(commands) > 12
    for command in commands:
        assert any("--json" in option.opts for option in command.params), command.name


def test_the_life_of_an_account(migrated_on_each_database):
    program = migrated_on_each_database
    created = answer(program, "account", "create", "Alice@example.org")
    assert set(created) == ACCOUNT_FIELDS | {"created"}
    assert (created["email"], created["created"]) == (ALICE, True)
    again = answer(program, "account", "create", ALICE, "--if-missing")
    assert again == created | {"created": False}
    assert "already exists" in refusal(program, "account", "create", ALICE)

    assert answer(program, "account", "deactivate", ALICE)["active"] is False
    changed = answer(program, "account", "activate", "ALICE@example.org", "--confirmed")
    assert changed["active"] and changed["confirmed"] and not created["confirmed"]
    lines = program.output("account", "show", ALICE).splitlines()
    shown = dict(line.split("\t") for line in lines)
    assert (shown["active"], shown["confirmed"]) == ("yes", "yes")
    assert datetime.fromisoformat(changed["created_at"]).tzinfo

    program.output("key", "create", ALICE)
    deleted = answer(program, "account", "delete", ALICE, "--yes")
    assert deleted == {"email": ALICE, "deleted": True}
    assert ALICE in refusal(program, "account", "show", ALICE)


def test_a_password_is_read_from_standard_input_and_not_repeated(migrated):
    create = ("account", "create", ALICE, "--password-stdin")
    weak = "hunter2"
    refused = refusal(migrated, *create, stdin=weak)
    assert "too short" in refused and weak not in refused
    # The prefix `env` starts a real process instead of a warm one: warm processes hash
    # with less memory than OWASP recommends.
    environment = environment_with(migrated.settings)
    run_command(environment, *create, stdin=PASSWORD, prefix=["env"])
    stored = migrated.database.value("SELECT password FROM cabinet_user")
    assert stored.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    check = (
        "from readback.cabinet.models import User;"
        f"print(User.objects.get().check_password({PASSWORD!r}))"
    )
    assert migrated.output("manage", "shell", "-v0", "-c", check).strip() == "True"


def test_create_asks_for_a_password_and_does_not_show_it(migrated):
    code, screen = type_into(
        migrated,
        ["account", "create", ALICE, "--confirmed"],
        ("Password (leave empty for none)", PASSWORD),
        ("Repeat", PASSWORD),
    )
    assert code == 0 and ALICE in screen
    assert PASSWORD not in screen


def test_a_person_is_invited_with_a_link_or_a_mail(migrated):
    refused = refusal(migrated, "account", "invite", ALICE)
    assert "READBACK_SMTP_URL" in refused and "--link" in refused
    link = migrated.output("account", "invite", ALICE, "--link")
    assert "/accounts/password/reset/key/" in link
    assert "already exists" in refusal(migrated, "account", "invite", ALICE, "--link")
    shown = answer(migrated, "account", "show", ALICE)
    assert shown["confirmed"] and shown["last_login_at"] is None

    mailing = migrated.with_settings(SMTP_URL="smtp://127.0.0.1:9")
    done = mailing.run("account", "invite", BOB, "--json")
    assert done.returncode == 0 and "sent as soon as" in done.stderr
    assert json.loads(done.stdout) == {"email": BOB, "link": None}


def test_the_commands_obey_the_domains_of_the_setting(migrated):
    domains = migrated.with_settings(SIGNUP="example.com")
    for command in (["create", ALICE], ["invite", ALICE, "--link"]):
        refused = refusal(domains, "account", *command)
        assert "one of these domains: example.com" in refused


def test_the_first_operator_needs_no_shell(migrated_on_each_database):
    program = migrated_on_each_database
    create = ("account", "create", ALICE, "--confirmed", "--operator")
    assert answer(program, *create)["operator"] is True
    assert answer(program, "account", "create", BOB)["operator"] is False
    assert "last operator" in refusal(program, "account", "operator", ALICE, "off")
    assert answer(program, "account", "operator", BOB, "on")["operator"] is True
    twice = [answer(program, "account", "operator", ALICE, "off") for _ in range(2)]
    assert not any(each["operator"] for each in twice)
    refusal(program, "account", "operator", ALICE, "maybe", code=2)

    trail = map(json.loads, program.output("audit", "--json").splitlines())
    assert [(row["object"], row["change"]) for row in trail] == [
        (ALICE, "Made an operator by a command"),
        (BOB, "Made an operator by a command"),
        (ALICE, "No longer an operator, by a command"),
    ]


@pytest.mark.parametrize(
    ("command", "table", "done", "refused"),
    [
        (
            "reset-second-factor",
            "mfa_authenticator (user_id, type, data, created_at, last_used_at)"
            " VALUES (?, 'totp', '{}', ?, ?)",
            "Removed the second factor of Alice@example.org",
            "This account has no second factor.",
        ),
        (
            "disconnect",
            "socialaccount_socialaccount"
            " (user_id, provider, uid, extra_data, last_login, date_joined)"
            " VALUES (?, 'https://login.example', '7', '{}', ?, ?)",
            "Disconnected Alice@example.org from single sign-on",
            "This account is not connected with single sign-on.",
        ),
    ],
)
def test_what_keeps_an_owner_out_is_removed_once(
    with_alice, command: str, table: str, done: str, refused: str
):
    database = with_alice.database
    owner = database.value("SELECT id FROM cabinet_user")
    database.rows(f"INSERT INTO {table}", owner, *[database.moment(0)] * 2)

    assert done in with_alice.output("account", command, "Alice@example.org")

    assert refusal(with_alice, "account", command, ALICE) == f"Error: {refused}\n"


def test_a_generated_key_is_well_formed_and_stored_nowhere(program, tmp_path):
    made = {program.output("key", "generate").strip() for _ in range(2)}

    assert len(made) == 2
    assert not [each for each in made if keys.why_invalid(each.encode())]
    assert not (tmp_path / "data").exists()


def test_the_life_of_a_key(with_alice):
    name = "Ключ 👩\u200d🚀"
    options = ("--name", name, "--expires-in", "30d", "--explain")
    made = answer(with_alice, "key", "create", ALICE, *options)
    assert made["explains_refusals"]
    assert set(made) == {*KEY_FIELDS, "created", "key"} and made["created"] is True
    first = made["key"]
    number = str(made["id"])
    assert (made["name"], made["masked"]) == (name, f"sk-echo-…{first[-4:]}")
    assert made["state"] == "active" and made["expires_at"].endswith("Z")

    rotate = ("key", "rotate", number, "--overlap", "1h", "--yes")
    rotated = answer(with_alice, *rotate)
    assert set(rotated) == {*KEY_FIELDS, "key", "replaced"}
    assert rotated["name"] == name and rotated["key"] != first
    assert rotated["replaced"]["id"] == made["id"]
    assert rotated["replaced"]["replaced_by"] == rotated["id"]
    assert rotated["replaced"]["expires_at"] < made["expires_at"]

    revoked = answer(with_alice, "key", "revoke", str(rotated["id"]), "--yes")
    assert set(revoked) == KEY_FIELDS and revoked["state"] == "revoked"
    assert "There is no key 999" in refusal(with_alice, "key", "revoke", "999")

    listed = with_alice.output("key", "list", ALICE, "--json")
    assert json.loads(listed) == [revoked, rotated["replaced"]]
    table = with_alice.output("key", "list", ALICE)
    states = [line.split("\t")[2] for line in table.splitlines()]
    assert states == ["revoked", "active"]
    for secret in (first, rotated["key"]):
        assert secret not in listed + table


def test_a_rehearsal_key_is_listed_as_one(with_alice):
    create = ("key", "create", ALICE, "--rehearse")
    assert answer(with_alice, *create, " 429  ok ")["rehearsal"] == "429 ok"
    for pattern in ("", "ok " * 21, "wait31", "418"):
        assert "A pattern has 1 to 20 steps" in refusal(with_alice, *create, pattern)
    [line] = with_alice.output("key", "list", ALICE).splitlines()
    assert line.split("\t")[-2:] == ["429 ok", ""]


def test_a_key_that_exists_is_not_created_again(with_alice):
    command = ("key", "create", ALICE, "--if-missing", "ci")
    made = with_alice.run(*command)
    assert made.stdout == f"{key_in(made.stdout)}\n"
    assert "not shown again" in made.stderr and "sk-echo-" not in made.stderr

    again = with_alice.run(*command)
    assert (again.returncode, again.stdout) == (0, "")
    assert "no key was created" in again.stderr
    # A command that asks for a rehearsal key must not get another key, and vice versa.
    assert key_in(with_alice.output(*command, "--rehearse", "429 ok"))
    existing = answer(with_alice, *command)
    assert set(existing) == {*KEY_FIELDS, "created"} and existing["created"] is False


def test_rotating_prints_the_new_key_and_nothing_else(with_alice):
    old = with_alice.output("key", "create", ALICE).strip()
    rotate = ("key", "rotate", "1")

    assert "--yes" in refusal(with_alice, *rotate, code=2)
    refusal(with_alice, *rotate, "--overlap", "8d", "--yes")
    refusal(with_alice, *rotate, "--overlap", "x", "--yes", code=2)
    done = with_alice.run(*rotate, "--overlap", "now", "--yes")

    assert done.stdout == f"{key_in(done.stdout)}\n" and key_in(done.stdout) != old
    assert "Key 2 replaces key 1, which no longer works" in done.stderr
    assert "already been rotated" in refusal(with_alice, *rotate, "--yes")


def test_an_invalid_duration_is_a_usage_error(with_alice):
    for value in ("", "0s", "-1d", "30", "1.5h", "٣d", "1d2h", "999999999d"):
        create = ("key", "create", ALICE, "--expires-in", value)
        assert "--expires-in" in refusal(with_alice, *create, code=2), value
    create = ("key", "create", ALICE, "--expires-in", "99999d")
    assert "36500d" in refusal(with_alice, *create, code=2)
    assert with_alice.output("key", "list", ALICE) == ""


@pytest.mark.parametrize(
    "command", [["account", "delete", ALICE], ["key", "revoke", "1"]], ids=" ".join
)
def test_a_command_that_cannot_be_undone_asks_first(with_alice, command):
    with_alice.output("key", "create", ALICE)
    refusal(with_alice, *command, code=2)  # no terminal to ask on

    assert type_into(with_alice, command, ("[y/N]", "n"))[0] == 1
    [key] = answer(with_alice, "key", "list", ALICE)
    assert key["state"] == "active"

    assert type_into(with_alice, command, ("[y/N]", "y"))[0] == 0


def test_a_terminal_shows_a_table_with_a_heading(with_alice):
    with_alice.output("key", "create", ALICE, "--name", "ci")

    code, screen = type_into(with_alice, ["key", "list", ALICE])

    assert code == 0
    heading, row = screen.splitlines()
    assert heading.index("state") == row.index("active")
    assert heading.index("name") == row.rindex("ci")


def test_the_audit_trail_is_printed_for_people_and_programs(with_alice):
    with_alice.output("account", "operator", ALICE, "on")
    with_alice.output("account", "create", BOB, "--operator")

    lines = with_alice.output("audit", "--json").splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 2 and first["object"] == ALICE
    assert set(first) == {
        *("time", "by", "by_id", "object_type", "object_id", "object", "change")
    }
    assert first["object_type"] == "account" and first["time"].endswith("Z")
    [_, row] = with_alice.output("audit").splitlines()
    assert BOB in row.split("\t") and row > "2026-"


def test_commands_write_the_security_log_where_the_setting_says(with_alice, tmp_path):
    log = tmp_path / "security.jsonl"
    logging = with_alice.with_settings(SECURITY_LOG=str(log))
    assert logging.run("account", "deactivate", ALICE).stderr == ""
    logging.output("account", "activate", ALICE)
    made = logging.output("key", "create", ALICE, "--name", "the label")
    logging.output("key", "revoke", "1", "--yes")

    text = log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["event"], line["command"]) for line in lines] == [
        ("account_deactivated", "readback account deactivate"),
        ("account_activated", "readback account activate"),
        ("key_created", "readback key create"),
        ("key_revoked", "readback key revoke"),
    ]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    for secret in (ALICE, "the label", made.strip()):
        assert secret not in text


def test_a_log_that_cannot_be_written_goes_to_standard_error(with_alice, tmp_path):
    to_folder = with_alice.with_settings(SECURITY_LOG=str(tmp_path))
    done = to_folder.run("account", "deactivate", ALICE)
    assert done.returncode == 0
    assert '"account_deactivated"' in done.stderr
    assert "The security log cannot be written: Is a directory." in done.stderr


def test_a_command_writes_to_syslog(with_alice):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(PATIENCE)
        place = f"syslog://127.0.0.1:{daemon.getsockname()[1]}"
        with_alice.with_settings(SECURITY_LOG=place).output(
            *("account", "deactivate", ALICE)
        )
        received = daemon.recv(4096).decode()

    head, _, line = received.partition("readback: ")
    assert head == "<86>"  # authpriv, info
    assert json.loads(line)["event"] == "account_deactivated"
