"""The way from the command line into the cabinet: Django, set up, with its faults
turned into sentences. What is done with it then stands in the cabinet's services.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from readback.cli.exits import CannotStart, Failure
from readback.cli.settings import load, require_server_parts
from readback.config import Config, ConfigError


def set_up(*, signs: bool = True) -> Config:
    """Make Django usable in this process, without touching the database.

    A process that signs nothing needs no secret key, and so makes none.
    """
    config = load()
    require_server_parts()
    if not signs and not config.secret_key:
        os.environ.pop("READBACK_SECRET_KEY_FILE", None)
        os.environ["READBACK_SECRET_KEY"] = secrets.token_urlsafe(48)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "readback.cabinet.settings")
    import django

    try:
        django.setup()
    except ConfigError as error:
        raise CannotStart(str(error)) from None
    return config


@contextmanager
def database_faults() -> Iterator[None]:
    """Say in one sentence that the database cannot be used."""
    from django.db import Error

    try:
        yield
    except Error as error:
        # The drivers name host, user and database here, and never the password.
        reason = " ".join(str(error).split())
        raise CannotStart(f"The database cannot be used: {reason}") from None


@contextmanager
def opened() -> Iterator[None]:
    """Do something with the cabinet; a service's refusal becomes exit code 1."""
    config = set_up()
    from readback.cabinet.services import ServiceError

    with database_faults():
        require_migrated(config)
        try:
            yield
        except ServiceError as error:
            raise Failure(str(error)) from None


def require_migrated(config: Config) -> None:
    # Opening a file that is not there would make an empty one.
    if config.sqlite_path and not config.sqlite_path.exists():
        raise CannotStart(
            f"There is no database at {config.sqlite_path}: run `readback migrate` "
            "or `readback serve`, or set READBACK_DATA_DIR or READBACK_DATABASE_URL"
        )
    from readback.cabinet import schema

    if schema.pending():
        raise CannotStart(
            "The database lacks tables of this version: run `readback migrate`"
        )
