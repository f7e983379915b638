"""`readback account disconnect`, for a person whom the login provider knows anew."""

from pathlib import Path

from tests.cli.program import Program
from tests.support.database import Database

ALICE = "alice@example.org"


def test_an_account_is_disconnected_from_single_sign_on(migrated: Program):
    path = Path(migrated.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    database = Database(f"sqlite:///{path}")
    account = database.add_account(ALICE)
    database.rows(
        "INSERT INTO socialaccount_socialaccount"
        " (user_id, provider, uid, extra_data, last_login, date_joined)"
        " VALUES (?, 'https://login.example', '7', '{}', ?, ?)",
        account,
        database.moment(0),
        database.moment(0),
    )

    output = migrated.output("account", "disconnect", "Alice@example.org")

    assert "Disconnected Alice@example.org from single sign-on" in output
    assert database.value("SELECT count(*) FROM socialaccount_socialaccount") == 0
    again = migrated.run("account", "disconnect", ALICE)
    assert (again.returncode, again.stderr) == (
        1,
        "Error: This account is not connected with single sign-on.\n",
    )
