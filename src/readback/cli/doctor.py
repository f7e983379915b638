"""`readback doctor`: look at everything that a start needs, and change nothing.

Each check is a generator of findings; a new one goes into `_CHECKS`. Settings that
cannot be read end the command before any check, as they end every other one.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import StrEnum
from errno import EADDRINUSE
from typing import NamedTuple

import click

from readback.cli import cabinet, listeners, settings, tables
from readback.cli.exits import CannotStart, Exit
from readback.config import Bind, Config


class State(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """One line of the report."""

    state: State
    subject: str
    sentence: str
    hint: str = ""


Findings = Iterator[Finding]


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Check settings, secret key, database, mail server and addresses.

    Ends with exit code 1 if a check fails; a warning is no failure.
    """
    config = settings.load()
    settings.require_server_parts()
    findings = [finding for check in _CHECKS for finding in check(config)]
    tables.show(("", "what", "found", "what to do"), findings)
    failed = any(finding.state == State.FAIL for finding in findings)
    context.exit(Exit.FAILURE if failed else Exit.OK)


def _settings(config: Config) -> Findings:
    given = sum(getattr(config, row.name) != row.default for row in fields(config))
    yield Finding(State.OK, "settings", f"understood, {given} of them not the default")


def _data_directory(config: Config) -> Findings:
    place = config.data_dir.absolute()
    existing = next(path for path in (place, *place.parents) if path.exists())
    if existing.is_dir() and os.access(existing, os.W_OK):
        yield Finding(State.OK, "data directory", str(place))
    else:
        yield Finding(
            State.FAIL,
            "data directory",
            f"{existing} is not a directory that you can write to",
            "Set READBACK_DATA_DIR to one that is.",
        )


def _secret_key(config: Config) -> Findings:
    from readback.cabinet.secret_key import FILE_NAME

    path = config.data_dir / FILE_NAME
    if config.secret_key:
        yield Finding(State.OK, "secret key", "given in the settings")
    elif not config.sqlite_path:
        yield Finding(
            State.WARN,
            "secret key",
            f"each machine has its own, in {path}",
            "Set READBACK_SECRET_KEY to the same value on every replica.",
        )
    elif not path.exists():
        yield Finding(State.OK, "secret key", f"will be made in {path}")
    elif path.stat().st_mode & 0o077:
        yield Finding(
            State.FAIL, "secret key", f"others can read {path}", f"chmod 600 {path}"
        )
    else:
        yield Finding(State.OK, "secret key", f"only you can read {path}")


def _certificate(config: Config) -> Findings:
    if config.tls_certificate is None:
        return
    try:
        settings.check_certificate(config)
    except CannotStart as fault:
        yield Finding(State.FAIL, "certificate", fault.message)
    else:
        yield Finding(State.OK, "certificate", f"{config.tls_certificate} and its key")


def _addresses(config: Config) -> Findings:
    """Warn where people elsewhere would be shown an address of this machine."""
    rows: tuple[tuple[str, str, tuple[Bind, ...]], ...] = (
        ("READBACK_PUBLIC_BASE_URL", config.public_base_url, config.api_bind),
        ("READBACK_CABINET_URL", config.cabinet_url, (config.cabinet_bind,)),
    )
    for setting, url, binds in rows:
        if not url and not all(bind.is_loopback for bind in binds):
            yield Finding(
                State.WARN,
                "addresses",
                f"{setting} is empty, so an address of this machine is shown",
                f"Set {setting} to the address that others use.",
            )
    yield Finding(State.OK, "address of the API", config.base_url)
    yield Finding(State.OK, "address of the cabinet", config.effective_cabinet_url)


def _database(config: Config) -> Findings:
    name = str(config.sqlite_path or "PostgreSQL")
    if config.sqlite_path and not config.sqlite_path.exists():
        yield Finding(State.OK, "database", f"`readback serve` will make {name}")
        return
    try:
        cabinet.set_up(signs=False)
        from readback.cabinet import schema

        with cabinet.database_faults():
            pending = schema.pending()
    except CannotStart as fault:
        yield Finding(State.FAIL, "database", fault.message)
        return
    if pending:
        yield Finding(
            State.WARN,
            "database",
            f"{name}: {len(pending)} migrations are not applied: {_some(pending)}",
            "Run `readback migrate`.",
        )
    else:
        yield Finding(State.OK, "database", f"{name}: reachable and up to date")


def _some(names: list[str]) -> str:
    """Name a few; a new database lacks them all."""
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


def _mail(config: Config) -> Findings:
    from readback.cabinet import mail

    if not config.smtp_url:
        state = State.WARN if mail.is_missing(config) else State.OK
        hint = "Set READBACK_SMTP_URL to send them."
        yield Finding(state, "mail", "mails are printed to the terminal", hint)
        return
    cabinet.set_up(signs=False)
    from django.core.mail import get_connection

    try:
        with get_connection():
            yield Finding(State.OK, "mail", "the mail server lets us in")
    except OSError as fault:  # smtplib's own exceptions are OSErrors, too
        yield Finding(
            State.FAIL,
            "mail",
            f"the mail server cannot be used: {fault.strerror or type(fault).__name__}",
            "Compare READBACK_SMTP_URL with what your mail server expects.",
        )


def _binds(config: Config) -> Findings:
    for bind in config.api_bind:
        yield _bind("READBACK_API_BIND", bind)
    yield _bind("READBACK_CABINET_BIND", config.cabinet_bind)
    yield _bind("READBACK_OPS_BIND", config.ops_bind)


def _bind(setting: str, bind: Bind) -> Finding:
    try:
        listeners.try_out(bind)
    except OSError as fault:
        found = f"{bind}: {listeners.reason(fault)}"
        if fault.errno == EADDRINUSE:
            hint = "Nothing, if that process is Readback."
            return Finding(State.WARN, setting, found, hint)
        return Finding(State.FAIL, setting, found, f"Set {setting} to another address.")
    return Finding(State.OK, setting, f"{bind}: free")


_CHECKS: tuple[Callable[[Config], Findings], ...] = (
    _settings,
    _data_directory,
    _secret_key,
    _certificate,
    _addresses,
    _database,
    _mail,
    _binds,
)
