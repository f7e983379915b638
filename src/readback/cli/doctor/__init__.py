"""`readback doctor`: check everything that a start needs, and change nothing.

Each check is a generator of results; a new one goes into `_CHECKS`. Invalid settings
end the command before the first check, as they end every other command.
"""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from errno import EADDRINUSE
from pathlib import Path
from typing import NamedTuple

import click

from readback.cli import django_setup, listeners, settings, tables
from readback.cli.exit_codes import CannotStart, ExitCode
from readback.config import Config
from readback.setting_values import Bind

# Less than this, and the next sign-ups may fail.
_FREE_BYTES = 1 << 20
# A mail is sent within about a second, or tried again within minutes.
_LONG_WAIT_SECONDS = 60


class CheckStatus(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class CheckResult(NamedTuple):
    """One line of the report: what was checked, what was found, what to do."""

    status: CheckStatus
    subject: str
    found: str
    action: str = ""


CheckResults = Iterator[CheckResult]


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Check settings, files, disk, database, mail, single sign-on and addresses.

    Changes nothing. The exit code is 1 if a check fails; warnings do not count.
    """
    config = settings.load()
    settings.require_server_packages()
    results = [result for check in _CHECKS for result in check(config)]
    tables.print_rows(("", "check", "found", "what to do"), results)
    failed = any(result.status == CheckStatus.FAIL for result in results)
    context.exit(ExitCode.FAILURE if failed else ExitCode.OK)


def _settings(config: Config) -> CheckResults:
    changed = sum(getattr(config, row.name) != row.default for row in fields(config))
    found = f"all valid; {changed} differ from the default"
    yield CheckResult(CheckStatus.OK, "settings", found)


def _data_directory(config: Config) -> CheckResults:
    path = config.data_dir.absolute()
    existing = _existing(path)
    if existing.is_dir() and os.access(existing, os.W_OK):
        found = f"{path} is writable" if path.exists() else f"{path} can be created"
        yield CheckResult(CheckStatus.OK, "data directory", found)
        return
    yield CheckResult(
        CheckStatus.FAIL,
        "data directory",
        f"{existing} is not a directory that this user can write to",
        "Set READBACK_DATA_DIR to a writable directory.",
    )


def _disk(config: Config) -> CheckResults:
    if not config.sqlite_path:
        return
    place = _existing(config.sqlite_path.absolute())
    free = shutil.disk_usage(place).free
    found = f"{free:,} bytes are free on the disk of {place}"
    if free < _FREE_BYTES:
        yield CheckResult(CheckStatus.FAIL, "disk", found, "Free some space on it.")
    else:
        yield CheckResult(CheckStatus.OK, "disk", found)


def _existing(path: Path) -> Path:
    """Return the path, or the nearest directory above it that exists."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))


def _secret_key(config: Config) -> CheckResults:
    from readback.cabinet.private_files import SECRET_KEY_NAME

    path = config.data_dir / SECRET_KEY_NAME
    if config.secret_key:
        yield CheckResult(CheckStatus.OK, "secret key", "set in READBACK_SECRET_KEY")
    elif not config.sqlite_path:
        yield CheckResult(
            CheckStatus.WARN,
            "secret key",
            f"not set, so each machine generates its own in {path}",
            "Set READBACK_SECRET_KEY to the same value on every replica.",
        )
    else:
        yield _secret_key_file(path)


def _secret_key_file(path: Path) -> CheckResult:
    try:
        path.open().close()
    except FileNotFoundError:
        found = f"`readback serve` will generate one in {path}"
        return CheckResult(CheckStatus.OK, "secret key", found)
    except OSError as error:
        found = f"{path} cannot be read: {error.strerror}"
        action = "Run Readback as the user who owns the file."
        return CheckResult(CheckStatus.FAIL, "secret key", found, action)
    return CheckResult(CheckStatus.OK, "secret key", f"stored in {path}")


def _permissions(config: Config) -> CheckResults:
    from readback.cabinet import private_files

    exposed = [str(path) for path in private_files.exposed(config)]
    if not exposed:
        found = "no other user can access the data directory or the database"
        yield CheckResult(CheckStatus.OK, "permissions", found)
        return
    yield CheckResult(
        CheckStatus.FAIL,
        "permissions",
        f"other users can access {', '.join(exposed)}",
        f"Run chmod go= {shlex.join(exposed)}",
    )


def _certificate(config: Config) -> CheckResults:
    if config.tls_certificate is None:
        return
    try:
        settings.check_certificate(config)
    except CannotStart as error:
        yield CheckResult(
            CheckStatus.FAIL,
            "certificate",
            error.message,
            "Set both to PEM files that belong together.",
        )
    else:
        found = f"{config.tls_certificate} and its private key are valid"
        yield CheckResult(CheckStatus.OK, "certificate", found)


def _addresses(config: Config) -> CheckResults:
    """Warn if people on other machines would be shown an address of this machine."""
    rows: tuple[tuple[str, str, tuple[Bind, ...]], ...] = (
        ("READBACK_PUBLIC_BASE_URL", config.public_base_url, config.api_bind),
        ("READBACK_CABINET_URL", config.cabinet_url, (config.cabinet_bind,)),
    )
    for setting, url, binds in rows:
        if not url and not all(bind.is_loopback for bind in binds):
            yield CheckResult(
                CheckStatus.WARN,
                "addresses",
                f"{setting} is empty, so users see an address of this machine",
                f"Set {setting} to the address that clients use.",
            )
    yield CheckResult(CheckStatus.OK, "address of the API", config.base_url)
    yield CheckResult(
        CheckStatus.OK, "address of the cabinet", config.effective_cabinet_url
    )


def _database(config: Config) -> CheckResults:
    name = str(config.sqlite_path or "PostgreSQL")
    try:
        if not _database_exists(config):
            found = f"`readback serve` will create {name}"
            yield CheckResult(CheckStatus.OK, "database", found)
            return
        pending = _pending_migrations()
    except CannotStart as error:
        yield CheckResult(
            CheckStatus.FAIL,
            "database",
            error.message,
            "Check READBACK_DATABASE_URL, and that the database is running.",
        )
        return
    if pending:
        yield CheckResult(
            CheckStatus.WARN,
            "database",
            f"{name}: {len(pending)} pending migrations: {_first_three(pending)}",
            "Run `readback migrate`.",
        )
    else:
        found = f"{name} is reachable and up to date"
        yield CheckResult(CheckStatus.OK, "database", found)
        yield _storage()


def _storage() -> CheckResult:
    from django.db import Error, ProgrammingError

    from readback.cabinet import storage

    try:
        storage.try_to_write()
    except ProgrammingError as error:
        found = f"not tried, because of {storage.reason(error)}"
        return CheckResult(CheckStatus.OK, "storage", found)
    except Error as error:
        found = f"the database cannot store anything: {storage.reason(error)}"
        action = "Free space on its disk, and check that this user can write to it."
        return CheckResult(CheckStatus.FAIL, "storage", found, action)
    return CheckResult(CheckStatus.OK, "storage", "the database can store new data")


def _database_exists(config: Config) -> bool:
    with django_setup.report_database_errors():
        return config.sqlite_path is None or config.sqlite_path.exists()


def _pending_migrations() -> list[str]:
    django_setup.set_up_django(needs_secret_key=False)
    from readback.cabinet import schema

    with django_setup.report_database_errors():
        return schema.pending()


def _first_three(names: list[str]) -> str:
    """Return the first names only: an empty database lacks every migration."""
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


def _mail(config: Config) -> CheckResults:
    from readback.cabinet import mail

    if not config.smtp_url:
        status = CheckStatus.WARN if mail.is_missing(config) else CheckStatus.OK
        found = "no mail server set; e-mails are printed to the terminal"
        action = "Set READBACK_SMTP_URL to send e-mails."
        yield CheckResult(status, "mail", found, action)
        return
    django_setup.set_up_django(needs_secret_key=False)
    from django.core.mail import get_connection

    try:
        with get_connection():
            yield CheckResult(CheckStatus.OK, "mail", "connected to the mail server")
    except OSError as error:  # includes the exceptions of smtplib
        yield CheckResult(
            CheckStatus.FAIL,
            "mail",
            f"the mail server cannot be used: {error.strerror or type(error).__name__}",
            "Check the host, port, user and password in READBACK_SMTP_URL.",
        )


def _provider(config: Config) -> CheckResults:
    if not config.oidc_issuer:
        return
    from readback.cabinet import provider_documents
    from readback.cabinet.single_sign_on import CALLBACK_PATH

    try:
        provider_documents.keys(config.oidc_issuer)
    except provider_documents.ProviderError as error:
        yield CheckResult(
            CheckStatus.FAIL,
            "single sign-on",
            f"the provider cannot be used: {error}",
            "Check READBACK_OIDC_ISSUER, and that this machine reaches the provider.",
        )
        return
    callback = f"{config.effective_cabinet_url}/{CALLBACK_PATH}"
    found = f"the provider answers; register {callback} there"
    yield CheckResult(CheckStatus.OK, "single sign-on", found)


def _outbox(config: Config) -> CheckResults:
    """Report what waits, if the database is in a state to tell."""
    try:
        if not _database_exists(config) or _pending_migrations():
            return
    except CannotStart:
        return
    from django.db import ProgrammingError

    from readback.cabinet import outbox, storage

    try:
        waiting = outbox.waiting()
    except ProgrammingError as error:
        found = f"not read, because of {storage.reason(error)}"
        yield CheckResult(CheckStatus.OK, "outbox", found)
        return
    if waiting.since is None:
        yield CheckResult(CheckStatus.OK, "outbox", "no e-mail is waiting")
        return
    seconds = (datetime.now(UTC) - waiting.since).total_seconds()
    found = f"e-mails waiting: {waiting.mails}; the oldest for {seconds:.0f} s"
    if seconds < _LONG_WAIT_SECONDS:
        yield CheckResult(CheckStatus.OK, "outbox", found)
        return
    action = "Check the mail server, and that a cabinet is running: it sends them."
    yield CheckResult(CheckStatus.WARN, "outbox", found, action)


def _binds(config: Config) -> CheckResults:
    for bind in config.api_bind:
        yield _bind("READBACK_API_BIND", bind)
    yield _bind("READBACK_CABINET_BIND", config.cabinet_bind)
    yield _bind("READBACK_OPS_BIND", config.ops_bind)


def _bind(setting: str, bind: Bind) -> CheckResult:
    try:
        listeners.check_can_listen(bind)
    except OSError as error:
        found = f"{bind}: {listeners.reason(error)}"
        if error.errno == EADDRINUSE:
            action = f"Ignore this if Readback is running; otherwise change {setting}."
            return CheckResult(CheckStatus.WARN, setting, found, action)
        action = f"Set {setting} to another address."
        return CheckResult(CheckStatus.FAIL, setting, found, action)
    return CheckResult(CheckStatus.OK, setting, f"{bind} is free")


_CHECKS: tuple[Callable[[Config], CheckResults], ...] = (
    _settings,
    _data_directory,
    _disk,
    _secret_key,
    _permissions,
    _certificate,
    _addresses,
    _database,
    _mail,
    _provider,
    _outbox,
    _binds,
)
