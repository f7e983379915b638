"""The archive of `readback backup`: a plain tar file that begins with its manifest.

Only plain files are read, and nothing is compressed, so an archive never unpacks to
more than its own size. Only the names of known members are used as paths.
"""

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import IO, NamedTuple

from readback import __version__
from readback.cli.exit_codes import Failure

DATABASE = "database"
SECRET_KEY = "secret-key"
# Archives made by 1.0.0 also contain the files in READBACK_BRAND_DIR.
MEMBERS = (DATABASE, SECRET_KEY)
_SQLITE = "SQLite"
_MANIFEST = "manifest.json"


class Manifest(NamedTuple):
    readback: str
    created_at: int
    members: list[str]
    sha256: dict[str, str] | None = None
    """Each member's checksum, in hexadecimal; archives made by 1.0.0 have none."""
    database: str = _SQLITE
    """The database's format: "SQLite", or "PostgreSQL" for a dump made by 1.0.0."""


def write(output: IO[bytes], folder: Path, created_at: int) -> None:
    checksums = {name: _sha256(folder / name) for name in MEMBERS}
    manifest = Manifest(__version__, created_at, list(MEMBERS), checksums)
    (folder / _MANIFEST).write_text(json.dumps(manifest._asdict(), indent=1))
    # Streamed, because standard output may be a pipe.
    with tarfile.open(fileobj=output, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for name in (_MANIFEST, *MEMBERS):
            tar.add(folder / name, name)
    output.flush()


def read(source: IO[bytes], folder: Path) -> Manifest:
    """Copy the members to a folder; return the manifest.

    End the command with a sentence if the archive does not match its manifest.
    """
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            names = _copy(tar, folder)
        if not {_MANIFEST, *MEMBERS} <= set(names):
            raise ValueError("not a backup")
        facts = json.loads((folder / _MANIFEST).read_bytes())
        # Another version's manifest may have more fields.
        known = {name: facts[name] for name in Manifest._fields if name in facts}
        manifest = Manifest(**known)
        if [_MANIFEST, *manifest.members] != names:
            raise ValueError("other members than it lists")
        found = {name: _sha256(folder / name) for name in MEMBERS}
        expected = manifest.sha256 or found
        changed = [name for name in MEMBERS if found[name] != expected[name]]
    except (tarfile.TarError, LookupError, TypeError, ValueError):
        raise Failure(
            "This is not a complete archive of `readback backup`: it was cut off, "
            "altered, or is encrypted."
        ) from None
    if changed:
        raise Failure(
            f"{changed[0]} in the archive has changed since the backup (its SHA-256 "
            "differs): nothing was restored. Restore another archive."
        )
    if manifest.database != _SQLITE:
        raise Failure(
            f"The archive contains a dump of {manifest.database} by Readback "
            f"{manifest.readback}: docs/backup.md says how to restore it."
        )
    return manifest


def _copy(tar: tarfile.TarFile, folder: Path) -> list[str]:
    """Copy the known members to a folder; return the names of all members."""
    for member in tar:
        content = tar.extractfile(member) if member.type == tarfile.REGTYPE else None
        if content is None:
            raise ValueError("not a plain file")
        name = member.name if member.name in (_MANIFEST, *MEMBERS) else "other"
        with (folder / name).open("wb") as copy:
            shutil.copyfileobj(content, copy)  # fails if the archive was cut off
    return tar.getnames()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
