"""`readback audit`, and the security log of commands, in a file or at syslog."""

import json
import socket
import stat

from tests.cli.program import Program
from tests.support.waiting import PATIENCE

ALICE = "alice@example.org"
ENTRY = """
from django.contrib.admin.models import LogEntry
from django.utils import timezone
from readback.cabinet.models import User
made = User.objects.get()
for days in (0, 40):
    LogEntry.objects.log_actions(made.pk, User.objects.all(), 2, f"Changed {days}")
first, second = LogEntry.objects.order_by("pk")
second.action_time = timezone.now() - timezone.timedelta(days=40)
second.save()
"""


def with_entries(program: Program) -> None:
    program.output("account", "create", ALICE, "--confirmed")
    program.output("manage", "shell", "-c", ENTRY)


def test_the_audit_trail_is_printed_for_people_and_programs(migrated):
    assert migrated.output("audit") == ""
    with_entries(migrated)

    lines = migrated.output("audit", "--json").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["change"] for row in rows] == ["Changed 0", "Changed 40"]
    assert set(rows[0]) == {
        *("time", "by", "by_id", "object_type", "object_id", "object", "change")
    }
    assert rows[0]["by"] == rows[0]["object"] == ALICE
    assert rows[0]["object_type"] == "account" and rows[0]["time"].endswith("Z")
    table = migrated.output("audit", "--since", "30d").splitlines()
    assert len(table) == 1 and table[0].split("\t")[-1] == "Changed 0"
    assert len(migrated.output("audit", "--since", "2020-01-01").splitlines()) == 2
    assert migrated.run("audit", "--since", "yesterday").returncode == 2


def test_commands_write_the_security_log_where_the_setting_says(migrated, tmp_path):
    log = tmp_path / "security.jsonl"
    logging = Program(
        migrated.folder, {**migrated.settings, "READBACK_SECURITY_LOG": str(log)}
    )
    migrated.output("account", "create", ALICE, "--confirmed")
    done = logging.run("account", "deactivate", ALICE)
    assert done.stderr == ""
    logging.output("account", "activate", ALICE)
    made = logging.output("key", "create", ALICE, "--name", "the label")
    [key] = json.loads(logging.output("key", "list", ALICE, "--json"))
    logging.output("key", "revoke", str(key["id"]), "--yes")

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


def test_a_log_that_cannot_be_written_goes_to_standard_error(migrated, tmp_path):
    settings_ = {**migrated.settings, "READBACK_SECURITY_LOG": str(tmp_path)}
    migrated.output("account", "create", ALICE, "--confirmed")
    done = Program(migrated.folder, settings_).run("account", "deactivate", ALICE)
    assert done.returncode == 0
    assert '"account_deactivated"' in done.stderr
    assert "The security log cannot be written: Is a directory." in done.stderr
    wrong = {**migrated.settings, "READBACK_SECURITY_LOG": "relative.log"}
    refused = Program(migrated.folder, wrong).run("account", "show", ALICE)
    assert refused.returncode == 3 and "READBACK_SECURITY_LOG" in refused.stderr


def test_a_command_writes_to_syslog(migrated):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(PATIENCE)
        place = f"syslog://127.0.0.1:{daemon.getsockname()[1]}"
        migrated.output("account", "create", ALICE, "--confirmed")
        sending = {**migrated.settings, "READBACK_SECURITY_LOG": place}
        Program(migrated.folder, sending).output("account", "deactivate", ALICE)
        received = daemon.recv(4096).decode()

    head, _, line = received.partition("readback: ")
    assert head == "<86>"  # authpriv, info
    assert json.loads(line)["event"] == "account_deactivated"
