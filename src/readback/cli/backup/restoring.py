"""What `readback restore` does: check everything, then replace database and key.

Whenever it is interrupted, the database is the old one or the new one. The secret key
follows the database, so a restore that was interrupted in between is to be repeated.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from readback.cabinet.serving import private_files, schema
from readback.cli.backup import archive, postgresql, saving, sqlite
from readback.cli.backup.archive import Manifest
from readback.cli.exit_codes import Failure
from readback.config import Config, variable


@dataclass(frozen=True)
class Restore:
    """An archive that has been checked, in a folder that is deleted afterwards."""

    config: Config
    manifest: Manifest
    folder: Path
    online: bool
    # For PostgreSQL: what creates and fills the tables.
    script: Path | None

    @classmethod
    @contextmanager
    def checked(
        cls, config: Config, source: IO[bytes], online: bool
    ) -> Iterator["Restore"]:
        """Copy an archive, and raise an error if it cannot be restored here."""
        with _folder(config) as folder:
            manifest = archive.read(source, folder)
            _check_origin(config, manifest)
            _check_use(config, manifest, online)
            script = _check_database(config, manifest, folder / archive.DATABASE)
            restore = cls(config, manifest, folder, online, script)
            restore._check_secret_key()
            yield restore

    @property
    def _secret_key(self) -> str:
        return (self.folder / archive.SECRET_KEY).read_text()

    @property
    def _secret_key_path(self) -> Path:
        return self.config.data_dir / private_files.SECRET_KEY_NAME

    def _check_secret_key(self) -> None:
        if self.config.secret_key not in ("", self._secret_key.strip()):
            raise Failure(
                "READBACK_SECRET_KEY is not the secret key of the archive, so "
                "authenticator apps and recovery codes would stop working: set it to "
                f"the archive's, which `tar -xOf FILE {archive.SECRET_KEY}` prints."
            )

    @property
    def replaces(self) -> list[str]:
        """What exists here and would be lost."""
        database, key = self.config.sqlite_path, self._secret_key_path
        found = [f"the database {database}"] if database and database.exists() else []
        if not database and postgresql.tables():
            found = ["the tables in PostgreSQL"]
        if not self.config.secret_key and key.exists():
            found += [f"the secret key {key}"] * (key.read_text() != self._secret_key)
        return found

    @property
    def differing_settings(self) -> list[str]:
        """The names of settings that the archive has with another value."""
        rows = [row for row in fields(Config) if not row.metadata["secret"]]
        names = {*map(variable, rows), *self.manifest.settings}
        there, here = self.manifest.settings.get, os.environ.get
        return sorted(name for name in names if there(name) != here(name))

    @property
    def brand_is_left(self) -> bool:
        """Whether the archive has a brand folder that has no place here."""
        brand = list((self.folder / archive.BRAND).iterdir())
        return bool(brand) and not self._empty_brand_folder()

    def _empty_brand_folder(self) -> Path | None:
        """Return READBACK_BRAND_DIR, unless it has files, which are the operator's."""
        place = self.config.brand_dir
        if place is None or saving.brand_files(self.config):
            return None
        return place if os.access(place, os.W_OK) else None

    def run(self) -> None:
        """Replace the database, then the secret key; make both the service's own."""
        database = self.config.sqlite_path
        if self.script:
            postgresql.replace(self.config.effective_database_url, self.script)
        elif database and self.online:
            sqlite.replace_content(self.folder / archive.DATABASE, database)
        elif database:
            # A service that starts now waits for the lock, and one that has started
            # since the check is noticed.
            with schema.locked():
                _check_use(self.config, self.manifest, self.online)
                sqlite.replace(self.folder / archive.DATABASE, database)
                private_files.sync_directory(database.absolute().parent)
        if not self.config.secret_key:
            private_files.write_secret_key(self._secret_key_path, self._secret_key)
        if place := self._empty_brand_folder():
            shutil.copytree(self.folder / archive.BRAND, place, dirs_exist_ok=True)
        for path in (self._secret_key_path, database):
            if path and os.geteuid() == 0:
                _give_to_owner_of_directory(path)
        if not schema.pending():
            saving.remember(self.manifest)


@contextmanager
def _folder(config: Config) -> Iterator[Path]:
    """Make a private folder, for SQLite on the disk of the database."""
    if config.sqlite_path:
        place = config.sqlite_path.absolute()
        private_files.make_directory(place.parent)
        with saving.folder_beside(place) as folder:
            yield folder
    else:
        with TemporaryDirectory(prefix="readback-") as temporary:
            yield Path(temporary)


def _check_origin(config: Config, manifest: Manifest) -> None:
    if (manifest.database == "sqlite") != bool(config.sqlite_path):
        here = "SQLite" if config.sqlite_path else "PostgreSQL"
        raise Failure(
            f"The archive is of {manifest.database_name}, and READBACK_DATABASE_URL "
            f"means {here}."
        )
    if schema.unknown(manifest.migrations):
        raise archive.newer_version(manifest.version)


def _check_use(config: Config, manifest: Manifest, online: bool) -> None:
    if online and schema.missing(manifest.migrations):
        raise Failure(
            f"The archive was made by Readback {manifest.version}, whose tables are "
            "older: stop Readback, restore without --online, and start it again."
        )
    database = config.sqlite_path
    is_used = sqlite.is_in_use(database) if database else postgresql.is_in_use()
    if is_used and not online:
        raise Failure("Readback uses this database: stop it first, or add --online.")


def _check_database(config: Config, manifest: Manifest, copied: Path) -> Path | None:
    """Read the whole copy of the database; return the script for PostgreSQL."""
    if config.sqlite_path:
        try:
            sqlite.check(copied)
        except sqlite3.Error as error:
            raise Failure(f"The archive's database cannot be used: {error}.") from None
        return None
    if int(manifest.database_version) > (version := postgresql.server_version()):
        raise Failure(
            f"The archive is of {manifest.database_name}, and this server is older "
            f"({version}): use a server of that version or a newer one."
        )
    if missing := postgresql.missing_roles(manifest.roles):
        raise Failure(
            f"The archive has privileges for {', '.join(missing)}, which this server "
            "lacks: create the role first, as deploy/postgresql/roles.sql does."
        )
    return postgresql.prepare(config.effective_database_url, copied)


def _give_to_owner_of_directory(path: Path) -> None:
    """Let the service read what root has created: the file and those beside it."""
    for file in path.parent.glob(f"{path.name}*"):
        owner = path.parent.stat()
        os.chown(file, owner.st_uid, owner.st_gid, follow_symlinks=False)
