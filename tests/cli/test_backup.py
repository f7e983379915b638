"""`readback backup` and `readback restore`, on both databases, and interrupted."""

import io
import json
import os
import random
import signal
import stat
import subprocess
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from readback.cli.backup import archive
from readback.cli.exit_codes import Failure
from tests.cli.program import READBACK, Program, local_settings
from tests.support.commands import environment_with
from tests.support.waiting import PATIENCE, wait_until

NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES"
KEYS = "SELECT count(*) FROM cabinet_key"
CONTENT = {"database": b"rows " * 500, "secret-key": b"k" * 64, "brand/a.md": b"# A"}
NOT_OURS = "This is not a complete archive of `readback backup`"


def with_key(program):
    program.output("account", "create", "alice@example.com", "--confirmed")
    program.output("key", "create", "alice@example.com")
    return program


@pytest.fixture
def installed(migrated):
    """The program with one account and one key in SQLite."""
    return with_key(migrated)


@pytest.fixture
def installed_on_postgresql(program, postgresql):
    program.settings["READBACK_DATABASE_URL"] = postgresql.migrated_database()
    return with_key(program)


@pytest.fixture
def installed_on_each(migrated_on_each_database):
    return with_key(migrated_on_each_database)


def refusal(done):
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def left_over(folder):
    return [path for path in folder.rglob("*") if "partial" in path.name]


def test_a_restore_brings_everything_back(installed_on_each, tmp_path):
    program = installed_on_each
    key = Path(program.settings["READBACK_DATA_DIR"], "secret-key")
    secret = key.read_text()
    program.output("backup", "saved")
    file = tmp_path / "saved"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "saved exists" in refusal(program.run("backup", "saved"))
    program.output("backup", "saved", "--yes")

    program.output("key", "create", "alice@example.com")
    key.write_text("another " * 8)
    assert "add --yes" in refusal(program.run("restore", "saved"))
    assert program.database.value(KEYS) == 2
    if "READBACK_DATABASE_URL" not in program.settings:  # still in WAL mode
        assert program.database.value("PRAGMA journal_mode") == "wal"
    done = program.run("restore", "saved", "--yes")
    assert done.stdout.startswith("Restored the backup") and not done.stderr
    assert program.database.value(KEYS) == 1
    assert key.read_text() == secret
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    # Only the time of the restored backup is left, and not that of an earlier one.
    assert program.database.value("SELECT count(*) FROM cabinet_lastbackup") == 1
    assert not left_over(tmp_path)


def test_a_backup_contains_no_sessions(installed_on_each, tmp_path):
    program = installed_on_each
    database = program.database
    database.rows(
        "INSERT INTO django_session VALUES ('stolen-key', 'stolen-data', '2100-01-01')"
    )
    account = database.value("SELECT id FROM cabinet_user")
    database.rows(
        "INSERT INTO usersessions_usersession (user_id, created_at, last_seen_at, ip, "
        f"session_key, user_agent, data) VALUES ({account}, '2026-01-01', "
        "'2026-01-01', '192.0.2.7', 'stolen-key', 'stolen-browser', '{}')"
    )

    program.output("backup", "saved")

    assert b"stolen-" not in (tmp_path / "saved").read_bytes()
    program.output("restore", "saved", "--yes")
    assert database.value("SELECT count(*) FROM django_session") == 0
    assert database.value("SELECT count(*) FROM usersessions_usersession") == 0
    assert database.value("SELECT count(*) FROM cabinet_user") == 1


def test_a_database_of_a_newer_version_is_refused_and_tables_of_others_are_kept(
    installed_on_postgresql,
):
    program = installed_on_postgresql
    program.output("backup", "saved")
    database = program.database
    database.rows("CREATE TABLE theirs (id int)")
    database.rows(f"{NEWER} ('cabinet', '0999_later', now())")
    for command in (("backup", "other"), ("restore", "saved", "--yes")):
        found = refusal(program.run(*command))
        assert "newer version" in found and "cabinet.0999_later" in found

    database.rows("DELETE FROM django_migrations WHERE name = '0999_later'")
    program.output("restore", "saved", "--yes")
    assert database.value("SELECT to_regclass('theirs') IS NOT NULL")


def members_of(file):
    with tarfile.open(file) as tar:
        return [(each.name, tar.extractfile(each).read()) for each in tar]


def altered(file, contents, **facts):
    """Return the archive with these members and manifest entries replaced."""
    found = dict(members_of(file))
    manifest = json.loads(found.pop("manifest.json"))
    found |= contents
    checksums = {name: sha256(content).hexdigest() for name, content in found.items()}
    manifest |= {"sha256": checksums} | facts
    return tar_of(("manifest.json", json.dumps(manifest).encode()), *found.items())


def test_a_restore_names_the_member_with_a_changed_byte_and_changes_nothing(
    installed_on_each, tmp_path
):
    program = installed_on_each
    program.output("backup", "saved")
    program.output("key", "create", "alice@example.com")
    key = Path(program.settings["READBACK_DATA_DIR"], "secret-key")
    key.write_text("another " * 8)
    with tarfile.open(tmp_path / "saved") as tar:
        members = tar.getmembers()[1:]
    saved = (tmp_path / "saved").read_bytes()
    for member in members:
        changed = bytearray(saved)
        changed[member.offset_data + random.randrange(member.size)] ^= 1
        (tmp_path / "altered").write_bytes(changed)

        found = refusal(program.run("restore", "altered", "--yes"))

        assert f"{member.name} in the archive has changed" in found
        assert program.database.value(KEYS) == 2
        assert key.read_text() == "another " * 8
    assert len(members) == 2
    assert not left_over(tmp_path)


def test_an_archive_moves_to_a_new_machine_through_pipes(
    installed_on_each, postgresql, tmp_path
):
    program = installed_on_each
    environment = environment_with(program.settings)
    done = subprocess.run(
        [*READBACK, "backup", "-"], env=environment, capture_output=True, check=True
    )
    assert done.stderr == b"Wrote the archive to standard output.\n"
    saved = done.stdout
    settings = local_settings(tmp_path / "new")
    if "READBACK_DATABASE_URL" in program.settings:
        settings["READBACK_DATABASE_URL"] = postgresql.new_database()
    (tmp_path / "new").mkdir()
    done = subprocess.run(
        [*READBACK, "restore", "--yes", "-"],
        env=environment_with(settings),
        input=saved,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"Restored the backup, made by Readback ")
    new = Program(tmp_path, settings)
    assert new.database.value(KEYS) == 1
    assert stat.S_IMODE(os.stat(settings["READBACK_DATA_DIR"]).st_mode) == 0o700


def test_a_running_service_can_be_saved_and_not_restored(installed_on_each):
    program = installed_on_each
    with program.serving(until="Readback is running"):
        program.output("backup", "saved")
        found = refusal(program.run("restore", "saved", "--yes"))
        assert "Readback uses this database: stop it first." in found
    program.output("restore", "saved", "--yes")


def test_another_secret_key_is_refused(installed, tmp_path):
    installed.output("backup", "saved")
    other = installed.with_settings(SECRET_KEY="x" * 50)
    found = refusal(other.run("restore", "saved", "--yes"))
    assert "not the secret key of the archive" in found
    with tarfile.open(tmp_path / "saved") as tar:
        key = tar.extractfile("secret-key").read().decode()
    installed.with_settings(SECRET_KEY=key).output("restore", "saved", "--yes")


def test_an_archive_that_does_not_exist_leaves_no_directory(program):
    assert "'missing'" in refusal(program.run("restore", "missing"))
    assert not Path(program.settings["READBACK_DATA_DIR"]).exists()


def test_a_backup_without_the_secret_key_is_refused(installed, tmp_path):
    Path(installed.settings["READBACK_DATA_DIR"], "secret-key").unlink()
    assert "There is no secret key" in refusal(installed.run("backup", "saved"))
    assert not (tmp_path / "saved").exists()


def test_an_archive_of_a_newer_version_is_refused(installed):
    installed.database.rows(f"{NEWER} ('cabinet', '0999_later', '2030-01-01')")
    installed.output("backup", "saved")
    found = refusal(installed.run("restore", "saved", "--yes"))
    assert "newer version" in found and "cabinet.0999_later" in found


def test_a_damaged_database_is_replaced(installed):
    installed.output("backup", "saved")
    path = Path(installed.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    path.write_bytes(b"damaged " * 1000)
    installed.output("restore", "saved", "--yes")
    assert installed.database.value(KEYS) == 1


def test_a_backup_of_a_damaged_database_is_refused(installed, tmp_path):
    path = Path(installed.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    content = bytearray(path.read_bytes())
    content[20 * 4096 :] = bytes(len(content) - 20 * 4096)
    path.write_bytes(content)
    installed.run("backup", "saved")
    assert not (tmp_path / "saved").exists()
    assert not left_over(tmp_path)


def stop_while_it_waits(program, mode, *arguments):
    """Stop a command that waits for a lock in PostgreSQL."""

    def waits():
        return program.database.rows(
            "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE"
            " datname = current_database() AND application_name = 'readback-cabinet'"
        )

    with program.database.connected() as other, other.transaction():
        other.execute(f"LOCK TABLE cabinet_key IN {mode} MODE")
        process = program.start(*arguments, stdout=program.folder / "out")
        wait_until(lambda: (True,) in waits(), "it waits")
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    wait_until(lambda: not waits(), "its session has ended")


def test_stopped_commands_leave_postgresql_as_it_was(installed_on_postgresql, tmp_path):
    program = installed_on_postgresql
    stop_while_it_waits(program, "ACCESS EXCLUSIVE", "backup", "saved")
    assert not (tmp_path / "saved").exists()

    program.output("backup", "saved")
    program.output("key", "create", "alice@example.com")
    stop_while_it_waits(program, "ROW EXCLUSIVE", "restore", "saved", "--yes")
    assert program.database.value(KEYS) == 2
    assert not left_over(tmp_path)
    program.output("restore", "saved", "--yes")
    assert program.database.value(KEYS) == 1


def test_a_full_disk_leaves_no_archive_and_no_half_restore(installed, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k,mode=0700", "none", str(small)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    try:
        found = refusal(installed.run("backup", "small/saved"))
        assert "full" in found or "No space left on device" in found
        assert not list(small.iterdir())
        installed.output("backup", "saved")
        other = installed.with_settings(DATA_DIR=str(small / "data"))
        found = refusal(other.run("restore", "saved"))
        assert "No space left on device" in found
        assert not list((small / "data").iterdir())
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def test_the_data_directory_may_have_any_name(program, tmp_path):
    program.settings["READBACK_DATA_DIR"] = str(tmp_path / "50%25 #1?")
    program.output("migrate")
    with_key(program)

    program.output("backup", "saved")
    program.output("key", "create", "alice@example.com")
    program.output("restore", "saved", "--yes")

    assert program.database.value(KEYS) == 1


def refuses(data, folder):
    """Return whether an archive is refused without writing outside the folder."""
    folder.mkdir(parents=True)
    try:
        archive.read(io.BytesIO(data), folder)
    except Failure as error:
        return NOT_OURS in error.message and len(list(folder.parent.iterdir())) == 1
    return False


def tar_of(*members):
    """Return a tar file of these pairs (header or name, content), in this order."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for header, content in members:
            if isinstance(header, str):
                header = tarfile.TarInfo(header)
            header.size = header.size or len(content)
            tar.addfile(header, io.BytesIO(content))
    return output.getvalue()


def listing(*members):
    manifest = archive.Manifest("1.0.0", 0, list(members))
    return "manifest.json", json.dumps(manifest._asdict()).encode()


def test_an_archive_that_is_cut_off_anywhere_is_refused(tmp_path):
    whole = tar_of(listing(*CONTENT), *CONTENT.items())
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        last = tar.getmembers()[-1]
    end = last.offset_data + last.size
    for length in [*range(0, end, tarfile.BLOCKSIZE), end - 1]:
        assert refuses(whole[:length], tmp_path / str(length) / "members"), length


ROWS, KEY = ("database", b"rows"), ("secret-key", b"k" * 64)
OURS = listing("database", "secret-key")
LINK = tarfile.TarInfo("database"), b""
LINK[0].type = tarfile.SYMTYPE
SPARSE = tarfile.TarInfo("database"), b""
SPARSE[0].type = tarfile.GNUTYPE_SPARSE


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b"age-encryption.org/v1\n" + bytes(2048),
        tar_of(OURS, ROWS, KEY, ("brand/not-listed", b"x")),
        tar_of(OURS, ROWS, KEY, KEY),
        tar_of(OURS, LINK, KEY),
        tar_of(ROWS, KEY),
        tar_of(("manifest.json", b"[]"), ROWS, KEY),
        tar_of(("manifest.json", b"{}"), ROWS, KEY),
        tar_of(OURS, SPARSE, KEY),
    ],
    ids=lambda data: str(len(data)),
)
def test_an_archive_that_is_not_ours_is_refused(data, tmp_path):
    assert refuses(data, tmp_path / "refused" / "members")


@pytest.mark.parametrize("name", ["brand/terms.en.md", "../evil", "/etc/evil"])
def test_no_other_name_in_an_archive_becomes_a_path(tmp_path, name):
    data = tar_of(listing("database", "secret-key", name), ROWS, KEY, (name, b"x"))

    archive.read(io.BytesIO(data), tmp_path)

    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"manifest.json", "database", "secret-key", "other"}


@pytest.mark.parametrize("key", [b"short", b"\xff" * 64])
def test_an_archive_with_a_damaged_secret_key_is_refused(installed, tmp_path, key):
    installed.output("backup", "saved")
    other = altered(tmp_path / "saved", {"secret-key": key})
    (tmp_path / "altered").write_bytes(other)

    found = refusal(installed.run("restore", "altered", "--yes"))

    assert "secret key" in found
    assert installed.database.value(KEYS) == 1
