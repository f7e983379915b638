"""`readback key` for programs: JSON, keys that are created once, rotation."""

import json
from pathlib import Path
from typing import Any

import pytest

from readback import keys
from tests.cli.program import Program, key_in
from tests.support.database import Database

ALICE = "alice@example.org"
# What docs/cli.md promises of every key.
FIELDS = {
    *("id", "name", "masked", "state", "created_at", "expires_at", "revoked_at"),
    *("last_used_at", "explains_refusals", "replaced_by"),
}


@pytest.fixture
def program(migrated: Program) -> Program:
    database = Path(migrated.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    Database(f"sqlite:///{database}").add_account(ALICE)
    return migrated


def answer(program: Program, *arguments: str) -> Any:
    """Return the JSON on standard output, which has nothing else."""
    return json.loads(program.output("key", *arguments, "--json"))


def test_a_generated_key_is_well_formed_and_stored_nowhere(tmp_path):
    program = Program(tmp_path, {"READBACK_DATA_DIR": str(tmp_path / "data")})
    made = {program.output("key", "generate").strip() for _ in range(2)}

    assert len(made) == 2
    assert not [key for key in made if keys.why_invalid(key.encode())]
    assert not (tmp_path / "data").exists()


def test_the_life_of_a_key_in_json(program):
    made = answer(program, "create", ALICE, "--name", "ci", "--expires-in", "30d")
    assert set(made) == {*FIELDS, "created", "key"} and made["created"] is True
    first, number = made["key"], str(made["id"])
    assert (made["name"], made["masked"]) == ("ci", f"sk-echo-…{first[-4:]}")
    assert made["state"] == "active" and made["expires_at"].endswith("Z")

    renamed = answer(program, "rename", number, "Ключ 👩\u200d🚀")
    assert set(renamed) == FIELDS and renamed["name"] == "Ключ 👩\u200d🚀"

    rotated = answer(program, "rotate", number, "--overlap", "1h", "--yes")
    assert set(rotated) == {*FIELDS, "key", "replaced"}
    assert rotated["name"] == renamed["name"] and rotated["key"] != first
    assert rotated["replaced"]["id"] == made["id"]
    assert rotated["replaced"]["replaced_by"] == rotated["id"]
    assert rotated["replaced"]["expires_at"] < made["expires_at"]

    revoked = answer(program, "revoke", str(rotated["id"]), "--yes")
    assert set(revoked) == FIELDS and revoked["state"] == "revoked"

    listed = program.output("key", "list", ALICE, "--json")
    assert json.loads(listed) == [revoked, rotated["replaced"]]
    assert first not in listed and rotated["key"] not in listed


def test_a_key_that_exists_is_not_created_again(program):
    command = ("create", ALICE, "--if-missing", "ci")
    made = program.run("key", *command)
    assert made.stdout == f"{key_in(made.stdout)}\n"

    again = program.run("key", *command)
    assert (again.returncode, again.stdout) == (0, "")
    assert "no key was created" in again.stderr
    existing = answer(program, *command)
    assert set(existing) == {*FIELDS, "created"} and existing["created"] is False


def test_rotating_prints_the_new_key_and_nothing_else(program):
    old = program.output("key", "create", ALICE).strip()

    refused = program.run("key", "rotate", "1")
    assert refused.returncode == 2 and "--yes" in refused.stderr
    for wrong in ("8d", "x"):
        done = program.run("key", "rotate", "1", "--overlap", wrong, "--yes")
        assert done.returncode in (1, 2) and done.stdout == ""
    done = program.run("key", "rotate", "1", "--overlap", "now", "--yes")

    assert done.stdout == f"{key_in(done.stdout)}\n" and key_in(done.stdout) != old
    assert "Key 2 replaces key 1, which no longer works" in done.stderr
    again = program.run("key", "rotate", "1", "--yes")
    assert again.returncode == 1 and "already been rotated" in again.stderr
