"""Only the service's user can read its files, whatever the umask."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.disks import read_only
from tests.faults.serving import first_start
from tests.support import migrated
from tests.support.commands import environment_with, own_ports, run_command
from tests.support.database import Database

NOBODY = 65534
# As root, but subject to the permissions of files like any other user.
WITHOUT_PRIVILEGES = [
    *("setpriv", "--inh-caps", "-all"),
    *("--bounding-set", "-dac_override,-dac_read_search,-fowner"),
]
EMAIL = "bob@example.org"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def environment(data: Path) -> dict[str, str]:
    return environment_with({"READBACK_DATA_DIR": str(data), **own_ports()})


@pytest.fixture
def old_installation(data: Path, environment: dict[str, str]) -> Path:
    """The data directory of a service that left its files readable by everyone."""
    migrated.provide(environment)
    Database(f"sqlite:///{data}/readback.sqlite3").add_account(EMAIL)
    (data / "secret-key").write_text("x" * 50)
    data.chmod(0o755)
    for path in data.iterdir():
        path.chmod(0o644)
    return data


def modes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def run(environment: dict[str, str], *arguments: str, prefix: Sequence[str] = ()):
    done = run_command(environment, *arguments, prefix=prefix)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def permissions(environment: dict[str, str]) -> tuple[int, str, str]:
    """Return the exit code of `readback doctor` and its line about permissions."""
    done = run(environment, "doctor")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    [[status, _, found]] = [row for row in rows if row[1] == "permissions"]
    return done.returncode, status, found


def test_a_running_service_has_private_files_whatever_the_umask_is(tmp_path, data):
    before = os.umask(0o000)  # nothing is private by default
    try:
        with first_start(tmp_path, {}):
            found = modes(data)
    finally:
        os.umask(before)
    assert {"readback.sqlite3", "readback.sqlite3-wal", "secret-key"} <= set(found)
    assert set(found.values()) == {0o600}
    assert mode(data) == 0o700


def test_the_doctor_changes_nothing_and_its_command_fixes_it(
    old_installation, environment
):
    code, status, found = permissions(environment)
    assert (code, status) == (1, "fail")
    assert str(old_installation / "readback.sqlite3") in found
    assert mode(old_installation) == 0o755

    subprocess.run(["sh", "-c", found.split("`")[1]], check=True)

    assert permissions(environment)[:2] == (0, "ok")
    assert set(modes(old_installation).values()) == {0o600}


def test_a_shared_directory_may_have_a_private_database(tmp_path):
    shared = tmp_path / "srv"
    shared.mkdir()
    shared.chmod(0o1777)
    environment = environment_with(
        {
            "READBACK_DATA_DIR": str(tmp_path / "data"),
            "READBACK_DATABASE_URL": f"sqlite:///{shared}/echo.sqlite3",
            **own_ports(),
        }
    )
    run(environment, "migrate")
    assert modes(shared)["echo.sqlite3"] == 0o600
    assert permissions(environment)[:2] == (0, "ok")
    assert mode(shared) == 0o1777

    (shared / "echo.sqlite3").chmod(0o644)

    assert permissions(environment)[:2] == (1, "fail")


COMMANDS = (["migrate"], ["serve", "api"])


@pytest.mark.parametrize("of_directory", [0o700, 0o755], ids=oct)
def test_files_of_another_user_are_one_sentence(
    old_installation, environment, of_directory
):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, which gives files to another user, and setpriv")
    old_installation.chmod(of_directory)
    for path in (old_installation, *old_installation.iterdir()):
        os.chown(path, NOBODY, NOBODY)

    for command in COMMANDS:
        done = run(environment, *command, prefix=WITHOUT_PRIVILEGES)
        assert done.returncode == 3
        [sentence] = done.stderr.splitlines()
        assert "READBACK_DATA_DIR" in sentence or "database cannot be used" in sentence
    assert run(environment, "doctor", prefix=WITHOUT_PRIVILEGES).returncode == 1


def test_a_read_only_directory_is_one_sentence(old_installation, environment):
    with read_only(old_installation):
        for command in COMMANDS:
            done = run(environment, *command)
            assert done.returncode == 3
            [sentence] = done.stderr.splitlines()
            assert "database cannot be used" in sentence
        assert run(environment, "doctor").returncode == 1
