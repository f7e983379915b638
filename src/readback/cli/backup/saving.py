"""What `readback backup` does: copy the database, and write the archive.

Nothing is left at the name of the file until the archive is complete and on the disk.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import click

from readback.cabinet.serving import private_files
from readback.cli.backup import archive, postgresql, sqlite
from readback.cli.backup.archive import Manifest
from readback.cli.database import require_migrated
from readback.cli.exit_codes import Failure
from readback.config import Config, variable


def write_file(name: str, config: Config, *, replace: bool) -> Manifest:
    """Write an archive that only this user can read."""
    place = Path(name).absolute()
    with folder_beside(place) as folder:
        written = folder / "archive"
        with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            manifest = _write(file, config, folder)
            private_files.sync(file)
        if replace:
            os.replace(written, place)
        else:
            os.link(written, place)  # fails if it exists by now
        private_files.sync_directory(place.parent)
    return manifest


def write_to(output: IO[bytes], config: Config) -> Manifest:
    with TemporaryDirectory(prefix="readback-") as folder:
        manifest = _write(output, config, Path(folder))
        output.flush()
    return manifest


@contextmanager
def folder_beside(place: Path) -> Iterator[Path]:
    """Make a private folder on the disk of a file, for what belongs there later."""
    prefix = f"{place.name}.partial-"
    with TemporaryDirectory(prefix=prefix, dir=place.parent) as folder:
        yield Path(folder)


def _write(output: IO[bytes], config: Config, folder: Path) -> Manifest:
    require_migrated(config)
    database, secret_key = folder / archive.DATABASE, folder / archive.SECRET_KEY
    secret_key.write_text(_secret_key(config))
    facts = _copy_database(config, database) | _settings(config)
    files = {archive.DATABASE: database, archive.SECRET_KEY: secret_key}
    (folder / archive.BRAND).mkdir()
    for path in brand_files(config):
        name = f"{archive.BRAND}/{path.name}"
        files[name] = Path(shutil.copyfile(path, folder / name))
    return archive.write(output, files, facts)


def brand_files(config: Config) -> list[Path]:
    """Return the files in READBACK_BRAND_DIR; names with a dot are not ours."""
    if config.brand_dir is None:
        return []
    listed = sorted(config.brand_dir.iterdir())
    return [path for path in listed if not path.name.startswith(".")]


def _copy_database(config: Config, target: Path) -> dict[str, Any]:
    # The time before the copy: later changes may be missing.
    now = int(time.time())
    if config.sqlite_path:
        migrations = sqlite.copy(config.sqlite_path.absolute(), target)
        kind, version, roles = "sqlite", sqlite.VERSION, list[str]()
    else:
        kind, version = "postgresql", str(postgresql.server_version())
        migrations, roles = postgresql.copy(config.effective_database_url, target)
    return {
        "created_at": now,
        "database": kind,
        "database_version": version,
        "migrations": migrations,
        "roles": roles,
    }


def _secret_key(config: Config) -> str:
    if config.secret_key:
        return config.secret_key
    path = config.data_dir / private_files.SECRET_KEY_NAME
    try:
        return private_files.read_secret_key(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Failure(
            f"The secret key cannot be read from {path} ({reason}): run this where the "
            "cabinet runs, or set READBACK_SECRET_KEY."
        ) from None


def _settings(config: Config) -> dict[str, Any]:
    rows = fields(config)
    public = [variable(row) for row in rows if not row.metadata["secret"]]
    secret = [row for row in rows if row.metadata["secret"]]
    return {
        "settings": {name: os.environ[name] for name in public if name in os.environ},
        "secrets": [variable(row) for row in secret if getattr(config, row.name)],
    }


def remember(manifest: Manifest) -> None:
    """Store when the backup was made, for the overview and the metric."""
    from django.db import Error

    from readback.cabinet.models import LastBackup

    at = datetime.fromtimestamp(manifest.created_at, UTC)
    try:
        LastBackup.objects.update_or_create(pk=1, defaults={"at": at})
    except Error as error:
        click.echo(f"The time of the backup was not stored: {error}.", err=True)
