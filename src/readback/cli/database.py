"""`readback migrate` and `readback manage`, and Django's setup for all commands.

Also reports database errors as sentences. The cabinet's services and selectors
do the actual work of the commands.
"""

import gc
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import click

from readback.cli.exit_codes import CannotStart, Failure
from readback.cli.settings import load
from readback.config import Config
from readback.setting_values import ConfigError

_INSUFFICIENT_PRIVILEGE = "42501"  # in PostgreSQL


def set_up_django(*, needs_secret_key: bool = True) -> Config:
    """Make Django usable in this process, without touching the database.

    A process that signs nothing gets a random secret key, so that it does not create
    the secret key's file.
    """
    config = load()
    if not needs_secret_key and not config.secret_key:
        os.environ.pop("READBACK_SECRET_KEY_FILE", None)
        os.environ["READBACK_SECRET_KEY"] = secrets.token_urlsafe(48)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    # Most objects created here are kept, so garbage collection would free little and
    # take a seventh of the time. Worker processes share the memory of frozen objects.
    gc.disable()
    try:
        import django

        django.setup()
    except ConfigError as error:
        raise CannotStart(str(error)) from None
    finally:
        gc.freeze()
        gc.enable()
    return config


@contextmanager
def report_database_errors() -> Iterator[None]:
    """Turn a database error into one sentence and exit code 3."""
    from django.db import Error

    try:
        yield
    except Error as error:
        # Drivers include the host, user and database, but never the password.
        reason = " ".join(str(error).split())
        if getattr(error.__cause__, "sqlstate", "") == _INSUFFICIENT_PRIVILEGE:
            reason += (
                ". If this is the role of the API, run deploy/postgresql/grants.sql as "
                "the owner of the tables; all other commands need the owner's role."
            )
        raise CannotStart(f"The database cannot be used: {reason}") from None
    except PermissionError as error:
        reason = f"{error.filename}: {error.strerror}"
        raise CannotStart(f"The database cannot be used: {reason}") from None


@contextmanager
def open_cabinet() -> Iterator[None]:
    """Set up Django for the block; report a `ServiceError` with exit code 1."""
    config = set_up_django()
    from readback.cabinet.accounts.services import ServiceError
    from readback.cabinet.serving import security_log

    # Log the command without its arguments: they contain addresses and names.
    command = click.get_current_context().command_path
    security_log.enable(config, command)
    with report_database_errors():
        require_migrated(config)
        try:
            yield
        except ServiceError as error:
            raise Failure(str(error)) from None


def require_migrated(config: Config) -> None:
    # Opening a missing SQLite file would create an empty one.
    if config.sqlite_path and not config.sqlite_path.exists():
        raise CannotStart(
            f"There is no database at {config.sqlite_path}: run `readback migrate` or "
            "`readback serve`, or set READBACK_DATA_DIR or READBACK_DATABASE_URL."
        )
    from readback.cabinet.storage import schema

    if schema.pending():
        raise CannotStart(
            "The database has not been migrated to this version: "
            "run `readback migrate`."
        )


@click.command()
def migrate() -> None:
    """Migrate the database to this version.

    Several of these commands can run at once: one migrates, and the others wait.
    """
    set_up_django()
    from readback.cabinet.storage import schema

    with report_database_errors():
        applied = schema.migrate()
    for name in applied:
        click.echo(f"applied {name}")
    click.echo("The database is up to date.")


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def manage(arguments: tuple[str, ...]) -> None:
    """Run a Django command; `readback manage help` lists them."""
    set_up_django()
    from django.core.management import execute_from_command_line

    with report_database_errors():
        execute_from_command_line(["readback manage", *arguments])
