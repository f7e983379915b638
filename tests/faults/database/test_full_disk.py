"""When the disk is full, the cabinet says so instead of blaming the visitor."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.error import HTTPError

import psutil
import pytest

from tests.faults.database.conftest import GatedPostgres
from tests.faults.disks import limited_files, mounted
from tests.support.browser import Browser
from tests.support.cabinet_server import CabinetServer, cabinet_server
from tests.support.commands import NO_BYTECODE, run_command
from tests.support.database import Database
from tests.support.waiting import wait_until

SIGNUP = "/accounts/signup/"
SENTENCES = {
    "en": "The service cannot store anything at the moment",
    "ru": "Сейчас сервис не может сохранять данные",
}


class Visitor(Browser):
    """A person who has opened the sign-up form."""

    def __init__(self, server: CabinetServer, language: str = "en") -> None:
        super().__init__(server.url, language)
        self._form = self.get(SIGNUP)

    def sign_up(self, email: str) -> tuple[int, str]:
        password = "a lamp in the harbour"
        try:
            page = self.submit(SIGNUP, self._form, email=email, password1=password)
        except HTTPError as error:
            assert error.code != 503 or error.headers["Retry-After"]
            return error.code, error.read().decode()
        return 200, page


Prefix = Sequence[str]
"""A prefix for commands, so that the fault also affects them."""


@contextmanager
def full_file_system(server: CabinetServer) -> Iterator[Prefix]:
    """Fill the data directory, which has its own small file system.

    A connection stays open, as the API's would: without one, SQLite needs some space
    even to open the database, which `small_files` covers.
    """
    data = server.folder / "data"
    ballast = data / "ballast"
    with Database(f"sqlite:///{data}/readback.sqlite3").connected() as connection:

        def has_no_log() -> bool:
            [[busy, *_]] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return not busy

        # Otherwise the WAL could have room for a few more transactions.
        wait_until(has_no_log, "no reader needs the WAL")
        with ballast.open("wb", buffering=0) as file:
            for size in (65536, 512, 1):
                while _write(file, size):
                    pass
        yield ()
        ballast.unlink()


def _write(file, size: int) -> bool:
    try:
        return file.write(bytes(size)) == size
    except OSError:
        return False


@contextmanager
def small_files(server: CabinetServer) -> Iterator[Prefix]:
    """Let the cabinet write only 4096 bytes to a file, which does not require root."""
    manager = psutil.Process(server.pid)
    with limited_files(manager.pid, *(child.pid for child in manager.children())):
        yield ("prlimit", "--fsize=4096")


Fault = Callable[[CabinetServer], AbstractContextManager[Prefix]]


@pytest.fixture(params=[full_file_system, small_files])
def fault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fault]:
    if request.param is small_files:
        yield request.param
        return
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    with mounted(data, "-t", "tmpfs", "-o", "size=2m,mode=0700", "none"):
        yield request.param


@pytest.fixture
def server(fault: Fault, tmp_path: Path) -> Iterator[CabinetServer]:
    with cabinet_server(tmp_path, NO_BYTECODE) as running:
        yield running


def accounts(server: CabinetServer, email: str) -> int:
    path = f"{server.environment['READBACK_DATA_DIR']}/readback.sqlite3"
    count = "SELECT count(*) FROM cabinet_user WHERE email = ?"
    return Database(f"sqlite:///{path}").value(count, email)


def assert_logged_once_a_minute(server: CabinetServer, words: str, begun: float):
    # On a busy machine, several minutes may have passed.
    minutes = (time.monotonic() - begun) // 60
    assert 1 <= server.stderr.count(words) <= 1 + minutes, server.stderr
    assert "Traceback" not in server.stderr


def test_a_full_disk_is_said_to_visitors_and_operators(server, fault):
    visitors = {language: Visitor(server, language) for language in SENTENCES}
    begun = time.monotonic()
    with fault(server):
        for language, visitor in visitors.items():
            for _ in range(3):
                status, page = visitor.sign_up("alice@example.org")
                assert status == 503, page
                assert SENTENCES[language] in page

    assert_logged_once_a_minute(server, "cannot use the database: d", begun)
    assert "alice" not in server.stderr
    assert accounts(server, "alice@example.org") == 0
    status, page = visitors["en"].sign_up("alice@example.org")
    assert status == 200 and accounts(server, "alice@example.org") == 1, page


def test_a_key_that_a_full_disk_does_not_store_is_not_to_be_used(server, fault):
    alice, environment = "alice@example.org", server.environment
    run_command(environment, "account", "create", alice, "--confirmed")
    run_command(environment, "key", "create", alice)
    with fault(server) as prefix:
        for command in (("rotate", "1", "--yes"), ("create", alice)):
            done = run_command(environment, "key", *command, prefix=prefix)
            assert done.returncode == 3, done.stderr
            is_shown = "Do not use what is printed above" in done.stderr
            assert bool(done.stdout) is is_shown, done
            if fault is full_file_system:  # the commit fails, after the key was shown
                assert is_shown


def test_an_unreachable_postgresql_is_unavailable_and_no_error_of_ours(
    gated: GatedPostgres, tmp_path: Path
):
    settings = {
        "READBACK_DATABASE_URL": gated.server.migrated_database(),
        "READBACK_SECRET_KEY": "x" * 50,
    }
    with cabinet_server(tmp_path, settings) as server:
        visitor, begun = Visitor(server), time.monotonic()
        gated.server.kill()
        try:
            for _ in range(3):
                status, page = visitor.sign_up("alice@example.org")
                assert status == 503 and SENTENCES["en"] in page
        finally:
            gated.server.start_again()
        assert_logged_once_a_minute(server, "cannot use the database", begun)
        assert visitor.sign_up("alice@example.org")[0] == 200
