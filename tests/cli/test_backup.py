"""`readback backup` and `readback restore`, on both databases, and interrupted."""

import os
import signal
import stat
import subprocess
import tarfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.program import READBACK, Program, local_settings
from tests.support.commands import environment_with
from tests.support.database import Database
from tests.support.waiting import PATIENCE, wait_until
from tests.support.warm_start import WarmProcess

KEYS = "SELECT count(*) FROM cabinet_key"


def with_programs(program, server):
    """Put the programs of the test's PostgreSQL on the PATH."""
    path = f"{server.programs}{os.pathsep}{os.environ['PATH']}"
    return Program(program.folder, {**program.settings, "PATH": path})


def database_of(program):
    default = f"sqlite:///{program.settings['READBACK_DATA_DIR']}/readback.sqlite3"
    return Database(program.settings.get("READBACK_DATABASE_URL", default))


def with_key(program):
    program.output("account", "create", "alice@example.com", "--confirmed")
    return program.output("key", "create", "alice@example.com").strip()


@pytest.fixture
def installed(migrated):
    """The program with one account and one key in SQLite."""
    with_key(migrated)
    return migrated


def refusal(done):
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def left_over(folder):
    return [path for path in folder.rglob("*") if "partial" in path.name]


def test_a_restore_brings_everything_back(
    migrated_on_each_database, postgresql, tmp_path
):
    program = with_programs(migrated_on_each_database, postgresql)
    with_key(program)
    key = Path(program.settings["READBACK_DATA_DIR"], "secret-key")
    secret = key.read_text()
    assert program.output("backup", "saved").startswith("Wrote saved: Readback ")
    file = tmp_path / "saved"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "saved is complete" in program.output("backup", "--verify", "saved")
    assert "saved exists" in refusal(program.run("backup", "saved"))

    program.output("key", "create", "alice@example.com")
    key.write_text("another " * 8)
    last_id = database_of(program).value("SELECT max(id) FROM cabinet_user")
    assert "add --yes" in refusal(program.run("restore", "saved"))
    assert database_of(program).value(KEYS) == 2
    report = program.output("restore", "saved", "--yes")
    assert report.startswith("Restored saved") and "up to date" in report
    assert database_of(program).value(KEYS) == 1
    assert key.read_text() == secret
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    # Of the backup that was restored, and not of one before it.
    assert database_of(program).value("SELECT count(*) FROM cabinet_lastbackup") == 1
    # A link in an e-mail never means somebody else.
    program.output("account", "create", "bob@example.com", "--confirmed")
    newest = database_of(program).value("SELECT max(id) FROM cabinet_user")
    assert newest > last_id + 100_000
    assert not left_over(tmp_path)


def test_a_backup_contains_no_sessions(migrated_on_each_database, postgresql, tmp_path):
    program = with_programs(migrated_on_each_database, postgresql)
    program.output("account", "create", "alice@example.com", "--confirmed")
    database = database_of(program)
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


def test_an_archive_moves_to_a_new_machine_through_pipes(
    migrated_on_each_database, postgresql, tmp_path
):
    program = with_programs(migrated_on_each_database, postgresql)
    with_key(program)
    environment = environment_with(program.settings)
    saved = subprocess.run(
        [*READBACK, "backup", "-"], env=environment, capture_output=True, check=True
    ).stdout
    settings = local_settings(tmp_path / "new")
    if "READBACK_DATABASE_URL" in program.settings:
        settings["READBACK_DATABASE_URL"] = postgresql.new_database()
    settings["PATH"] = program.settings["PATH"]
    (tmp_path / "new").mkdir()
    done = subprocess.run(
        [*READBACK, "restore", "-"],
        env=environment_with(settings),
        input=saved,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert b"READBACK_API_BIND" in done.stderr, "this setting differs"
    new = Program(tmp_path, settings)
    assert database_of(new).value(KEYS) == 1
    assert stat.S_IMODE(os.stat(settings["READBACK_DATA_DIR"]).st_mode) == 0o700


def test_secrets_of_the_settings_are_not_in_the_archive(installed, tmp_path):
    secrets = {
        "READBACK_SMTP_URL": "smtp://user:hidden-word@mail.example.com",
        "READBACK_METRICS_TOKEN": "hidden-token-hidden-token",
    }
    settings = {**installed.settings, **secrets, "READBACK_KEY_RATE": "7"}
    Program(tmp_path, settings).output("backup", "saved")
    content = (tmp_path / "saved").read_bytes()
    assert b"hidden" not in content
    assert b'"READBACK_KEY_RATE": "7"' in content
    assert b'"READBACK_SMTP_URL"' in content, "that it is set"


def test_the_brand_folder_is_restored_into_an_empty_one(installed, tmp_path):
    brand = tmp_path / "brand"
    brand.mkdir()
    (brand / "terms.en.md").write_text("# Terms")
    settings = {**installed.settings, "READBACK_BRAND_DIR": str(brand)}
    program = Program(tmp_path, settings)
    program.output("backup", "saved")
    (brand / "terms.en.md").write_text("# Other terms")
    assert "stays in the archive" in program.run("restore", "saved", "--yes").stderr
    assert (brand / "terms.en.md").read_text() == "# Other terms"
    (brand / "terms.en.md").unlink()
    program.output("restore", "saved", "--yes")
    assert (brand / "terms.en.md").read_text() == "# Terms"


def test_a_restore_refuses_while_the_service_is_running(installed):
    installed.output("backup", "saved")
    with installed.serving(until="Readback is running", cold=False):
        found = refusal(installed.run("restore", "saved", "--yes"))
        assert "stop it first, or add --online" in found
        installed.output("restore", "saved", "--yes", "--online")
    installed.output("restore", "saved", "--yes")


def test_another_secret_key_is_refused(installed, tmp_path):
    installed.output("backup", "saved")
    settings = {**installed.settings, "READBACK_SECRET_KEY": "x" * 50}
    found = refusal(Program(tmp_path, settings).run("restore", "saved", "--yes"))
    assert "not the secret key of the archive" in found
    with tarfile.open(tmp_path / "saved") as tar:
        settings["READBACK_SECRET_KEY"] = tar.extractfile("secret-key").read().decode()
    Program(tmp_path, settings).output("restore", "saved", "--yes")


def test_a_backup_without_the_secret_key_is_refused(installed, tmp_path):
    Path(installed.settings["READBACK_DATA_DIR"], "secret-key").unlink()
    assert "secret key cannot be read" in refusal(installed.run("backup", "saved"))
    assert not (tmp_path / "saved").exists()


def test_an_archive_of_the_other_database_is_refused(installed, tmp_path, postgresql):
    installed.output("backup", "saved")
    url = postgresql.new_database()
    other = Program(tmp_path, {**installed.settings, "READBACK_DATABASE_URL": url})
    assert "The archive is of SQLite" in refusal(other.run("restore", "saved", "--yes"))


def test_migrations_of_a_newer_version_are_refused(installed):
    database_of(installed).rows(
        "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, ?)",
        *("cabinet", "0999_later", "2030-01-01"),
    )
    installed.output("backup", "saved")
    found = refusal(installed.run("restore", "saved", "--yes"))
    assert "install that version or a newer one" in found


def test_a_role_that_the_server_lacks_is_named(tmp_path, postgresql):
    settings = local_settings(tmp_path)
    settings["READBACK_DATABASE_URL"] = postgresql.migrated_database()
    program = with_programs(Program(tmp_path, settings), postgresql)
    program.output("account", "create", "alice@example.com", "--confirmed")
    postgresql.execute("CREATE ROLE readback_reader")
    database_of(program).rows("GRANT SELECT ON cabinet_key TO readback_reader")
    program.output("backup", "saved")
    database_of(program).rows("REVOKE ALL ON cabinet_key FROM readback_reader")
    program.output("restore", "saved", "--yes")
    granted = "SELECT has_table_privilege('readback_reader', 'cabinet_key', 'SELECT')"
    assert database_of(program).value(granted)
    database_of(program).rows("REVOKE ALL ON cabinet_key FROM readback_reader")
    postgresql.execute("DROP ROLE readback_reader")
    found = refusal(program.run("restore", "saved", "--yes"))
    assert "privileges for readback_reader" in found


def test_a_damaged_database_is_replaced(installed):
    installed.output("backup", "saved")
    path = Path(installed.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    path.write_bytes(b"damaged " * 1000)
    installed.output("restore", "saved", "--yes")
    assert database_of(installed).value(KEYS) == 1


def test_a_backup_of_a_damaged_database_is_refused(installed, tmp_path):
    path = Path(installed.settings["READBACK_DATA_DIR"], "readback.sqlite3")
    content = bytearray(path.read_bytes())
    content[20 * 4096 :] = bytes(len(content) - 20 * 4096)
    path.write_bytes(content)
    installed.run("backup", "saved")
    assert not (tmp_path / "saved").exists()
    assert not left_over(tmp_path)


def test_a_restore_that_is_killed_while_it_reads_changes_nothing(installed, tmp_path):
    installed.output("backup", "saved")
    installed.output("key", "create", "alice@example.com")
    content = (tmp_path / "saved").read_bytes()
    os.mkfifo(tmp_path / "slow")
    process = started(installed, "restore", "slow", "--yes")
    with (tmp_path / "slow").open("wb", buffering=0) as pipe:
        pipe.write(content[: len(content) // 2])
        wait_until(lambda: left_over(tmp_path), "the archive is being read")
        process.kill()
        process.wait(PATIENCE)
    assert database_of(installed).value(KEYS) == 2
    installed.output("restore", "saved", "--yes")
    assert database_of(installed).value(KEYS) == 1


def started(program, *arguments):
    return WarmProcess(
        arguments,
        environment_with(program.settings),
        stdout=program.folder / "out",
        stderr=program.folder / "err",
        folder=program.folder,
    )


@contextmanager
def postgresql_waits(program, statement):
    """Hold a lock that a program of PostgreSQL waits for."""
    with database_of(program).connected() as other, other.transaction():
        other.execute(statement)
        yield


def waiting(program, name):
    return database_of(program).rows(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = ?"
        " AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')",
        name,
    )


def sessions(program, name):
    return database_of(program).rows(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = ?",
        name,
    )


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_killed_commands_leave_postgresql_as_it_was(tmp_path, postgresql, number):
    settings = local_settings(tmp_path)
    settings["READBACK_DATABASE_URL"] = postgresql.migrated_database()
    program = with_programs(Program(tmp_path, settings), postgresql)
    with_key(program)
    lock = "LOCK TABLE cabinet_key IN ACCESS EXCLUSIVE MODE"
    with postgresql_waits(program, lock):
        process = started(program, "backup", "saved")
        wait_until(lambda: waiting(program, "pg_dump"), "pg_dump waits")
        process.send_signal(number)
        process.wait(PATIENCE)
        wait_until(lambda: not sessions(program, "pg_dump"), "pg_dump has ended")
    assert not (tmp_path / "saved").exists()

    program.output("backup", "saved")
    program.output("key", "create", "alice@example.com")
    with postgresql_waits(program, "LOCK TABLE cabinet_key IN ROW EXCLUSIVE MODE"):
        process = started(program, "restore", "saved", "--yes")
        wait_until(lambda: waiting(program, "psql"), "psql waits")
        process.send_signal(number)
        process.wait(PATIENCE)
    wait_until(lambda: not sessions(program, "psql"), "its session has ended")
    assert database_of(program).value(KEYS) == 2
    if number == signal.SIGTERM:
        assert not left_over(tmp_path)
    program.output("restore", "saved", "--yes")
    assert database_of(program).value(KEYS) == 1


def test_a_backup_whose_reader_is_gone_is_not_remembered(installed):
    process = subprocess.Popen(
        [*READBACK, "backup", "-"],
        env=environment_with(installed.settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # The rest does not fit into the pipe.
    beginning = process.stdout.read(4096)
    process.kill()
    process.communicate(timeout=PATIENCE)
    (installed.folder / "cut").write_bytes(beginning)
    done = installed.run("backup", "--verify", "cut")
    assert "not a complete archive" in refusal(done)
    query = "SELECT count(*) FROM cabinet_lastbackup"
    assert database_of(installed).value(query) == 0


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
        settings = {**installed.settings, "READBACK_DATA_DIR": str(small / "data")}
        found = refusal(Program(tmp_path, settings).run("restore", "saved"))
        assert "No space left on device" in found
        assert not list((small / "data").iterdir())
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def test_the_owner_of_the_directory_owns_what_root_restores(installed, tmp_path):
    if os.geteuid():
        pytest.skip("only root can give a file to another user")
    installed.output("backup", "saved")
    data = tmp_path / "theirs"
    data.mkdir(mode=0o700)
    os.chown(data, 12345, 12345)
    settings = {**installed.settings, "READBACK_DATA_DIR": str(data)}
    Program(tmp_path, settings).output("restore", "saved")
    assert {path.stat().st_uid for path in data.iterdir()} == {12345}


def test_the_data_directory_may_have_any_name(tmp_path):
    settings = local_settings(tmp_path)
    settings["READBACK_DATA_DIR"] = str(tmp_path / "50%25 #1?")
    program = Program(tmp_path, settings)
    program.output("migrate")
    with_key(program)

    program.output("backup", "saved")
    program.output("key", "create", "alice@example.com")
    program.output("restore", "saved", "--yes")

    assert database_of(program).value(KEYS) == 1


def test_a_restore_that_is_not_confirmed_does_not_touch_the_database(installed):
    installed.output("backup", "saved")

    assert "add --yes" in refusal(installed.run("restore", "saved"))

    assert database_of(installed).value("PRAGMA journal_mode") == "wal"
