"""`readback backup` and `readback restore`: an installation's data in one file.

An archive gets its final name only when it is complete and on the disk. A restore reads
and checks the whole archive before it changes anything. The secret key is written after
the database, so run a restore again if it was killed in between.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import click

from readback.cabinet.storage import private_files
from readback.cabinet.storage.private_files import SECRET_KEY_NAME
from readback.cli import console, settings
from readback.cli.backup import archive
from readback.cli.database import (
    report_database_errors,
    require_migrated,
    set_up_django,
)
from readback.cli.exit_codes import Failure
from readback.config import Config


@click.command()
@click.argument("file")
@console.flag("--yes", help="Replace FILE if it exists.")
def backup(file: str, yes: bool) -> None:
    """Write a backup of this installation to an archive.

    Works while Readback is running. The archive contains the secret key, and the
    database without sessions. Only you can read FILE; - is standard output.
    """
    place = None if file == "-" else Path(file).absolute()
    if place is None and sys.stdout.isatty():
        raise click.UsageError("Standard output is a terminal: name a file or a pipe.")
    if place and os.path.lexists(place) and not yes:
        raise Failure(f"{file} exists: choose another name, or add --yes.")
    config = settings.load()
    key_path = config.data_dir / SECRET_KEY_NAME
    # Unlike Path.exists, this returns False in a folder that we may not search.
    if not (config.secret_key or os.path.exists(key_path)):
        raise Failure(
            f"There is no secret key at {key_path} that you can read: run this where "
            "the cabinet runs, as its user, with its READBACK_DATA_DIR or "
            "READBACK_SECRET_KEY."
        )
    set_up_django()
    from django.conf import settings as django_settings

    from readback.cli.backup import database

    # Changes made from now on may be missing from the backup.
    made_at = int(time.time())
    with _folder(place) as folder, report_database_errors():
        require_migrated(config)
        (folder / archive.SECRET_KEY).write_text(django_settings.SECRET_KEY)
        database.copy(config, folder / archive.DATABASE)
        if place is None:
            archive.write(sys.stdout.buffer, folder, made_at)
            click.echo("Wrote the archive to standard output.", err=True)
        else:
            written = folder / "archive"
            with written.open("wb") as output:
                archive.write(output, folder, made_at)
            private_files.sync(written)
            # Not os.link, which some file systems do not support.
            os.replace(written, place)
            private_files.sync(place.parent)
            click.echo(f"Wrote {file}.")
        _remember(made_at)


@click.command()
@click.argument("file", type=click.File("rb"))
@console.flag("--yes", help="Do not ask before replacing anything.")
def restore(file: IO[bytes], yes: bool) -> None:
    """Restore an archive of `readback backup`; - is standard input.

    Stop Readback first. Checks everything before it changes anything.
    """
    config = set_up_django(needs_secret_key=False)
    from readback.cli.backup import database

    place = config.sqlite_path and config.sqlite_path.absolute()
    with _folder(place, make_parent=True) as folder, report_database_errors():
        manifest = archive.read(file, folder)
        key = _checked_secret_key(config, folder)
        database.prepare(folder / archive.DATABASE)
        database.require_free(config)
        console.confirm("Replace the database and the secret key?", yes=yes)
        database.replace(config, folder / archive.DATABASE)
        if not config.secret_key:
            private_files.write_secret_key(config.data_dir / SECRET_KEY_NAME, key)
        click.echo(f"Restored the backup, made by Readback {manifest.readback}.")
        _remember(manifest.created_at)


@contextmanager
def _folder(place: Path | None, *, make_parent: bool = False) -> Iterator[Path]:
    """Create a private folder on the same disk as the file that will be replaced.

    Remove it at the end, even after SIGTERM. Report an OSError in one sentence.
    """
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    prefix = f"{place.name}.partial-" if place else "readback-"
    try:
        if place and make_parent:
            private_files.make_directory(place.parent)
        with TemporaryDirectory(prefix=prefix, dir=place and place.parent) as folder:
            yield Path(folder)
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        raise Failure(f"{where}{error.strerror}.") from None


def _checked_secret_key(config: Config, folder: Path) -> str:
    """Return an archive's secret key; end the command if it cannot be used."""
    try:
        key = private_files.read_secret_key(folder / archive.SECRET_KEY)
    except ValueError as error:
        raise Failure(f"The secret key of the archive {error}.") from None
    if config.secret_key not in ("", key.strip()):
        raise Failure(
            "READBACK_SECRET_KEY is not the secret key of the archive, so "
            "authenticator apps and recovery codes would stop working: set it to the "
            "archive's, which `tar -xOf FILE secret-key` prints."
        )
    return key


def _remember(made_at: int) -> None:
    """Store when the backup was made, for the operators' overview and the metric."""
    from django.db import Error

    from readback.cabinet.models import LastBackup

    at = datetime.fromtimestamp(made_at, UTC)
    try:
        LastBackup.objects.update_or_create(pk=1, defaults={"at": at})
    except Error as error:
        click.echo(f"The time of the backup was not stored: {error}.", err=True)
