"""The archive of `readback backup`: a plain tar file that begins with its manifest.

Only plain files with known names are read, and nothing is compressed, so an archive
never unpacks to more than its own size.
"""

import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

from readback.cli.exit_codes import Failure

DATABASE = "database"
SECRET_KEY = "secret-key"
BRAND = "brand"
SQLITE = "SQLite"
_MANIFEST = "manifest.json"
# Names become paths, so no others are accepted.
BRAND_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{,80}")


class Manifest(NamedTuple):
    """What an archive says about itself."""

    readback: str
    created_at: int
    members: list[str]
    sha256: dict[str, str] | None = None
    """Of each member, in hexadecimal; archives of 1.0.0 do not have it."""
    database: str = SQLITE
    """The format of the database; of 1.0.0 also a dump of "PostgreSQL"."""


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(output: IO[bytes], files: Mapping[str, Path], manifest: Manifest) -> None:
    text = json.dumps(manifest._asdict(), indent=1).encode()
    # Streamed, because standard output may be a pipe.
    with tarfile.open(fileobj=output, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for name in (_MANIFEST, *files):
            with files[name].open("rb") if name in files else io.BytesIO(text) as file:
                header = tarfile.TarInfo(name)
                header.size = file.seek(0, io.SEEK_END)
                header.mode = 0o600
                header.mtime = manifest.created_at
                file.seek(0)
                tar.addfile(header, file)
    output.flush()


def read(source: IO[bytes], folder: Path) -> Manifest:
    """Copy the members to a folder; return the manifest.

    End the command with a sentence if anything differs from what the manifest says.
    """
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            return _read(tar, folder)
    except (tarfile.TarError, LookupError, RecursionError, TypeError, ValueError):
        raise Failure(
            "This is not a complete archive of `readback backup`: it was cut off, "
            "altered, or is encrypted."
        ) from None


def _read(tar: tarfile.TarFile, folder: Path) -> Manifest:
    (folder / BRAND).mkdir()
    names = []
    for member in tar:
        content = tar.extractfile(member) if member.type == tarfile.REGTYPE else None
        if content is None or not _is_ours(member.name):
            raise ValueError("not a member of ours")
        with (folder / member.name).open("wb") as copy:
            shutil.copyfileobj(content, copy)  # an error if it was cut off
        names.append(member.name)
    if not {_MANIFEST, DATABASE, SECRET_KEY} <= set(names):
        raise ValueError("not a backup")
    facts = json.loads((folder / _MANIFEST).read_bytes())
    # Another version may say more.
    manifest = Manifest(
        **{name: facts[name] for name in Manifest._fields if name in facts}
    )
    if [_MANIFEST, *manifest.members] != names:
        raise ValueError("other members than it lists")
    if manifest.sha256 is not None:
        for name in manifest.members:
            if sha256(folder / name) != manifest.sha256[name]:
                raise Failure(
                    f"{name} in the archive has changed since the backup (its SHA-256 "
                    "differs): nothing was restored. Restore another archive."
                )
    return manifest


def _is_ours(name: str) -> bool:
    folder, _, brand_file = name.partition("/")
    if folder == BRAND:
        return BRAND_FILE.fullmatch(brand_file) is not None
    return name in (_MANIFEST, DATABASE, SECRET_KEY)
