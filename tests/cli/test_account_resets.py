"""An operator removes what keeps an owner out: a lost device, another person."""

import json
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.support.database import Database

ALICE = "alice@example.org"
RESETS = {
    "reset-second-factor": (
        "mfa_authenticator (user_id, type, data, created_at, last_used_at)"
        " VALUES (?, 'totp', '{}', ?, ?)",
        "Removed the second factor of Alice@example.org",
        "This account has no second factor.",
        "second_factor_reset",
    ),
    "disconnect": (
        "socialaccount_socialaccount"
        " (user_id, provider, uid, extra_data, last_login, date_joined)"
        " VALUES (?, 'https://login.example', '7', '{}', ?, ?)",
        "Disconnected Alice@example.org from single sign-on",
        "This account is not connected with single sign-on.",
        "provider_disconnected",
    ),
}


@pytest.mark.parametrize("command", RESETS)
def test_an_account_is_reset_once_and_the_security_log_has_it(
    migrated: Program, command: str
):
    row, done, refusal, event = RESETS[command]
    log = migrated.folder / "security.jsonl"
    logging = Program(
        migrated.folder, {**migrated.settings, "READBACK_SECURITY_LOG": str(log)}
    )
    path = Path(migrated.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    database = Database(f"sqlite:///{path}")
    account = database.add_account(ALICE)
    now = database.moment(0)
    database.rows(f"INSERT INTO {row}", account, now, now)

    output = logging.output("account", command, "Alice@example.org")

    assert done in output
    table = row.partition(" ")[0]
    assert database.value(f"SELECT count(*) FROM {table}") == 0
    again = migrated.run("account", command, ALICE)
    assert (again.returncode, again.stderr) == (1, f"Error: {refusal}\n")
    [line] = map(json.loads, log.read_text().splitlines())
    assert (line["event"], line["account"]) == (event, account)
