"""What `readback backup` and `readback restore` do, and in which order.

Nothing is left at the name of an archive until it is complete and on the disk. Whenever
a restore is interrupted, the database is the old one or the new one. The secret key
follows the database, so a restore that was interrupted in between is to be repeated.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import click
from django.db import Error

from readback.cabinet.serving import private_files, schema
from readback.cli.backup import archive, postgresql, sqlite
from readback.cli.backup.archive import Manifest
from readback.cli.database import require_migrated
from readback.cli.exit_codes import Failure
from readback.config import Config, variable


@contextmanager
def temporary_folder(place: Path | None = None) -> Iterator[Path]:
    """Make a private folder, on the disk of a file if something belongs there later."""
    prefix = f"{place.name}.partial-" if place else "readback-"
    with TemporaryDirectory(prefix=prefix, dir=place and place.parent) as folder:
        yield Path(folder)


def save_file(name: str, config: Config, *, replace: bool) -> Manifest:
    """Write an archive that only this user can read."""
    place = Path(name).absolute()
    with temporary_folder(place) as folder:
        written = folder / "archive"
        with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            manifest = save(file, config, folder)
            private_files.sync(file)
        if replace:
            os.replace(written, place)
        else:
            os.link(written, place)  # fails if it exists by now
        private_files.sync_directory(place.parent)
    return manifest


def save(output: IO[bytes], config: Config, folder: Path) -> Manifest:
    """Write an archive; the folder gets a copy of everything first."""
    require_migrated(config)
    database, secret_key = folder / archive.DATABASE, folder / archive.SECRET_KEY
    secret_key.write_text(_read_secret_key(config))
    # The time before the copy: later changes may be missing.
    facts: dict[str, Any] = {"created_at": int(time.time())}
    if config.sqlite_path:
        facts |= sqlite.copy(config.sqlite_path.absolute(), database)
    else:
        facts |= postgresql.copy(config.effective_database_url, database)
    settings = {variable(row): row for row in fields(config)}
    secrets = {name: row for name, row in settings.items() if row.metadata["secret"]}
    facts["secrets"] = [
        name for name, row in secrets.items() if getattr(config, row.name)
    ]
    public = [name for name in settings if name not in secrets]
    facts["settings"] = {
        name: os.environ[name] for name in public if name in os.environ
    }
    files = {archive.DATABASE: database, archive.SECRET_KEY: secret_key}
    (folder / archive.BRAND).mkdir()
    for path in _brand_files(config):
        name = f"{archive.BRAND}/{path.name}"
        files[name] = Path(shutil.copyfile(path, folder / name))
    manifest = archive.write(output, files, facts)
    output.flush()
    return manifest


def _read_secret_key(config: Config) -> str:
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


def _brand_files(config: Config) -> list[Path]:
    """Return the files in READBACK_BRAND_DIR; names with a dot are not ours."""
    listed = sorted(config.brand_dir.iterdir()) if config.brand_dir else []
    return [path for path in listed if not path.name.startswith(".")]


def remember(manifest: Manifest) -> None:
    """Store when the backup was made, for the overview and the metric."""
    from readback.cabinet.models import LastBackup

    at = datetime.fromtimestamp(manifest.created_at, UTC)
    try:
        LastBackup.objects.update_or_create(pk=1, defaults={"at": at})
    except Error as error:
        click.echo(f"The time of the backup was not stored: {error}.", err=True)


def folder_for_restore(config: Config) -> AbstractContextManager[Path]:
    place = config.sqlite_path and config.sqlite_path.absolute()
    if place:
        private_files.make_directory(place.parent)
    return temporary_folder(place)


class Restore:
    """An archive that can be restored here. Its members are in the folder."""

    def __init__(
        self, config: Config, source: IO[bytes], folder: Path, *, online: bool
    ) -> None:
        self._config, self._online = config, online
        self._database = config.sqlite_path
        self._key_path = config.data_dir / private_files.SECRET_KEY_NAME
        self.manifest = archive.read(source, folder)
        self._copied, self._brand = folder / archive.DATABASE, folder / archive.BRAND
        self._secret_key = (folder / archive.SECRET_KEY).read_text()
        if (self.manifest.database == "sqlite") != bool(self._database):
            here = "SQLite" if self._database else "PostgreSQL"
            raise Failure(
                f"The archive is of {self.manifest.database_name}, and "
                f"READBACK_DATABASE_URL means {here}."
            )
        if schema.unknown(self.manifest.migrations):
            raise archive.newer_version(self.manifest.version)
        self._check_use()
        # This reads the whole copy of the database.
        if self._database:
            sqlite.check_copy(self._copied)
        else:
            self._script = postgresql.prepare(
                config.effective_database_url, self._copied, self.manifest
            )
        if config.secret_key not in ("", self._secret_key.strip()):
            raise Failure(
                "READBACK_SECRET_KEY is not the secret key of the archive, so "
                "authenticator apps and recovery codes would stop working: set it to "
                f"the archive's, which `tar -xOf FILE {archive.SECRET_KEY}` prints."
            )
        # READBACK_BRAND_DIR, unless it has files, which are the operator's.
        place = config.brand_dir
        is_free = place and not _brand_files(config) and os.access(place, os.W_OK)
        self._brand_place = place if is_free else None
        self.brand_is_left = not is_free and any(self._brand.iterdir())

    def _check_use(self) -> None:
        if self._online and schema.missing(self.manifest.migrations):
            raise Failure(
                f"The archive was made by Readback {self.manifest.version}, whose "
                "tables are older: stop Readback, restore without --online, and start "
                "it again."
            )
        path = self._database
        is_used = sqlite.is_in_use(path) if path else postgresql.is_in_use()
        if is_used and not self._online:
            raise Failure(
                "Readback uses this database: stop it first, or add --online."
            )

    @property
    def replaces(self) -> list[str]:
        """What exists here and would be lost."""
        database, key = self._database, self._key_path
        found = [f"the database {database}"] if database and database.exists() else []
        if not database and postgresql.tables():
            found = ["the tables in PostgreSQL"]
        if not self._config.secret_key and key.exists():
            found += [f"the secret key {key}"] * (key.read_text() != self._secret_key)
        return found

    @property
    def differing_settings(self) -> list[str]:
        """The names of settings that the archive has with another value."""
        rows = [row for row in fields(Config) if not row.metadata["secret"]]
        names = {*map(variable, rows), *self.manifest.settings}
        there, here = self.manifest.settings.get, os.environ.get
        return sorted(name for name in names if there(name) != here(name))

    def run(self) -> None:
        """Replace the database, then the secret key; make both the service's own."""
        database = self._database
        if not database:
            postgresql.replace(self._config.effective_database_url, self._script)
        elif self._online:
            sqlite.replace_content(self._copied, database)
        else:
            # A service that starts now waits for the lock, and one that has started
            # since the check is noticed.
            with schema.locked():
                self._check_use()
                sqlite.replace(self._copied, database)
                private_files.sync_directory(database.absolute().parent)
        if not self._config.secret_key:
            private_files.write_secret_key(self._key_path, self._secret_key)
        if self._brand_place:
            shutil.copytree(self._brand, self._brand_place, dirs_exist_ok=True)
        if os.geteuid() == 0:
            # Let the service read what root has created, and the files beside it.
            for path in filter(None, (self._key_path, database)):
                for file in path.parent.glob(f"{path.name}*"):
                    owner = path.parent.stat()  # which exists if there is a file
                    os.chown(file, owner.st_uid, owner.st_gid, follow_symlinks=False)
        if not schema.pending():
            remember(self.manifest)
