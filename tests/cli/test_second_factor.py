"""`readback account reset-second-factor`, for an owner who has lost the device."""

from pathlib import Path

from tests.cli.program import Program
from tests.support.database import Database

ALICE = "alice@example.org"


def test_the_second_factor_of_an_account_is_reset(migrated: Program):
    path = Path(migrated.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    database = Database(f"sqlite:///{path}")
    account = database.add_account(ALICE)
    database.rows(
        "INSERT INTO mfa_authenticator (user_id, type, data, created_at)"
        " VALUES (?, 'totp', '{}', ?)",
        account,
        database.moment(0),
    )

    output = migrated.output("account", "reset-second-factor", "Alice@example.org")

    assert "Removed the second factor of Alice@example.org" in output
    assert database.value("SELECT count(*) FROM mfa_authenticator") == 0
    again = migrated.run("account", "reset-second-factor", ALICE)
    assert (again.returncode, again.stderr) == (
        1,
        "Error: This account has no second factor.\n",
    )
