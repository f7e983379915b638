"""Django in the test process, with a fresh, migrated database for every test.

Tests that use `database` run on SQLite. Those about searches, sums, times,
transactions, locks or parallel writers also run on PostgreSQL, with `make long`: they
have the mark ON_BOTH, or DATABASES = BOTH in their module. The migrations run once for
each database; a test gets a copy of the SQLite file, or PostgreSQL's emptied database.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from readback.config import Config
from tests.cabinet.outgoing import mail_server_at, sending
from tests.cabinet.reused_database import ReusedDatabase
from tests.support import migrated
from tests.support.commands import environment_with
from tests.support.mailbox import Mailbox, mailbox
from tests.support.postgres import Postgres


def _set_up_django() -> None:
    """Set Django up with default settings, ignoring the developer's environment."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "readback.cabinet.settings"
    settings = {"READBACK_SECRET_KEY": "only-for-tests-" * 5}
    with patch.dict(os.environ, environment_with(settings), clear=True):
        django.setup()
    _hash_quickly()
    _list_static_files_once()


def _hash_quickly() -> None:
    """Hash passwords with less memory, because hashing took most of the run."""
    from readback.cabinet.accounts.passwords import Argon2Hasher

    Argon2Hasher.memory_cost = 1024


def _list_static_files_once() -> None:
    """Share the list of static files among visitors.

    If each visitor created its own list, the tests would take half as long again.
    """
    from whitenoise.middleware import WhiteNoiseMiddleware

    make_list = WhiteNoiseMiddleware.add_files_from_finders
    known: dict[str, object] = {}

    def add_known_files(self: WhiteNoiseMiddleware) -> None:
        if not known:
            make_list(self)
            known.update(self.files)
        self.files.update(known)

    WhiteNoiseMiddleware.add_files_from_finders = add_known_files


_set_up_django()


@contextmanager
def _connected(url: str) -> Iterator[None]:
    """Connect Django to the database at the URL."""
    from django.db import connections
    from django.test import override_settings

    from readback.cabinet.storage import databases

    config = Config(database_url=url)
    wanted = {"default": databases.default(config)}
    if config.sqlite_path:
        # Tests need not survive a power cut, and waiting for the disk took a quarter of
        # the run. tests/faults/database checks the product's setting.
        wanted["default"]["OPTIONS"]["init_command"] += "; PRAGMA synchronous=OFF"
    before = connections.settings
    _disconnect()
    connections.settings = connections.configure_settings(wanted)
    try:
        with override_settings(CONFIG=config):
            yield
    finally:
        _disconnect()
        connections.settings = before


def _disconnect() -> None:
    """Close and discard the connection, so that the next access opens a new one."""
    from django.db import connections

    connections.close_all()
    with suppress(AttributeError):  # there was no connection
        del connections["default"]


@pytest.fixture(autouse=True)
def language() -> Iterator[None]:
    """Reset the language, which Django keeps per thread after a request."""
    from django.utils import translation

    translation.deactivate()
    yield
    translation.deactivate()


@pytest.fixture(scope="session")
def clean_postgresql(postgresql: Postgres) -> Callable[[], str]:
    """Return a function that returns the URL of a freshly migrated database."""
    reused: list[ReusedDatabase] = []

    def url() -> str:
        if not reused or not reused[0].restore():
            reused[:] = [ReusedDatabase(postgresql.migrated_database())]
        return reused[0].url

    return url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marks = metafunc.definition.iter_markers("parametrize")
    is_chosen = any(mark.args[0] == "database_url" for mark in marks)
    if "database_url" in metafunc.fixturenames and not is_chosen:
        kinds = getattr(metafunc.module, "DATABASES", ["sqlite"])
        metafunc.parametrize("database_url", kinds, indirect=True)


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a migrated database used only by this test."""
    if request.param == "sqlite":
        migrated.copy_to(tmp_path / "readback.sqlite3")
        return f"sqlite:///{tmp_path}/readback.sqlite3"
    return request.getfixturevalue("clean_postgresql")()


@pytest.fixture
def database(database_url: str) -> Iterator[str]:
    with _connected(database_url):
        yield database_url


@pytest.fixture(scope="session")
def mail_server() -> Iterator[Mailbox]:
    with mailbox() as box:
        yield box


@pytest.fixture
def unsent_mails(database: str, mail_server: Mailbox) -> Iterator[None]:
    """Use a mail server, but leave all e-mails in the outbox.

    Sending them took a quarter of the run, and most tests do not look at them.
    """
    with mail_server_at(mail_server.url):
        yield


@pytest.fixture
def alice(unsent_mails):
    """A day-old account with a confirmed address and the tests' password."""
    from django.utils import timezone

    from readback.cabinet.accounts import services
    from tests.cabinet.owners import ALICE
    from tests.cabinet.visitor import PASSWORD

    account = services.account_create(ALICE, PASSWORD, confirmed=True)
    account.date_joined = timezone.now() - timedelta(days=1)
    account.save()
    return account


@pytest.fixture
def owner(alice):
    """A browser in which Alice is logged in."""
    from tests.cabinet.visitor import Visitor

    visitor = Visitor()
    visitor.log_in(alice.email)
    return visitor


@pytest.fixture
def operator(unsent_mails):
    """A browser in which an operator is logged in."""
    from readback.cabinet.accounts import services
    from readback.cabinet.models import User
    from tests.cabinet.owners import OPERATOR
    from tests.cabinet.visitor import PASSWORD, Visitor

    services.account_create(OPERATOR, PASSWORD, confirmed=True)
    User.objects.filter(email=OPERATOR).update(is_staff=True)
    visitor = Visitor()
    visitor.log_in(OPERATOR)
    return visitor


@pytest.fixture
def mails(unsent_mails: None, mail_server: Mailbox) -> Iterator[Mailbox]:
    """A real mail server, empty at the start of every test, and a running sender."""
    mail_server.messages.clear()
    with sending():
        yield mail_server


@pytest.fixture
def settings_without_mail(mails: Mailbox) -> Iterator[None]:
    """Run the cabinet without a mail server, whatever other fixtures set."""
    with mail_server_at(""):
        yield


@pytest.fixture
def settings_without_limits() -> Iterator[None]:
    """Disable rate limits, for a test that makes many attempts."""
    from django.test import override_settings

    with override_settings(ACCOUNT_RATE_LIMITS=False, MFA_RATE_LIMITS=False):
        yield


@pytest.fixture
def clock(monkeypatch):
    """The rate limits' clock; the test advances it."""
    ahead = [0.0]
    real = time.time
    place = "allauth.core.internal.ratelimit.time.time"
    monkeypatch.setattr(place, lambda: real() + ahead[0])
    return ahead
