"""What a password costs whoever guesses it.

The other tests hash with less memory, here and in the processes that they start.
"""

from pathlib import Path

from tests.support import migrated
from tests.support.commands import environment_with, run_command
from tests.support.database import Database

# What OWASP asks for at least.
COST = "argon2$argon2id$v=19$m=19456,t=2,p=1$"


def test_a_password_is_hashed_with_the_memory_and_passes_of_owasp(tmp_path: Path):
    environment = environment_with({"READBACK_DATA_DIR": str(tmp_path)})
    migrated.provide(environment)

    create = ["account", "create", "alice@example.org", "--password-stdin"]
    # Behind another program, a command is started as an operator does it.
    run_command(environment, *create, stdin="a lamp in the harbour", prefix=["env"])

    database = Database(f"sqlite:///{tmp_path}/readback.sqlite3")
    assert database.value("SELECT password FROM cabinet_user").startswith(COST)
