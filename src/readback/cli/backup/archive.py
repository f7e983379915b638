"""The archive of `readback backup`: a tar file with a list of its members and digests.

The first member is the manifest, the last one the manifest's own digest; so a reader
knows what to expect before it reads anything large, and notices if something was cut
off or altered. The members are not compressed: an archive never holds more than its
own size. Knows nothing of databases, and uses only the standard library.
"""

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

from readback import __version__

FORMAT = 1
DATABASE, SECRET_KEY, BRAND = "database", "secret-key", "brand"
_MANIFEST, _CHECKSUM = "manifest.json", "manifest.sha256"
# Names become paths, so anything else is refused; the extraction opens no other file.
_NAME = re.compile(rf"{DATABASE}|{SECRET_KEY}|{BRAND}/[A-Za-z0-9][A-Za-z0-9._-]{{,80}}")
_MAX_MANIFEST_BYTES = 1 << 20
_CHUNK = 1 << 20


class ArchiveError(Exception):
    """The archive is not to be used; the text is a sentence that says why."""


@dataclass(frozen=True)
class Manifest:
    """What an archive says of itself. Another format may have other fields."""

    format: int
    version: str
    # Unix time.
    created_at: int
    # "sqlite" or "postgresql", and the version of its server or library.
    database: str
    database_version: str
    migrations: list[str]
    # The roles of PostgreSQL that may use the tables, besides their owner.
    roles: list[str]
    # Environment variables; of secrets, the names alone.
    settings: dict[str, str]
    secrets: list[str]
    # Name, size and SHA-256 of each member, in their order.
    members: list[tuple[str, int, str]]

    @property
    def database_name(self) -> str:
        kind = "SQLite" if self.database == "sqlite" else "PostgreSQL"
        return f"{kind} {self.database_version}"


def write(
    output: IO[bytes], files: Mapping[str, Path], facts: Mapping[str, Any]
) -> Manifest:
    """Write an archive with these files; `facts` are the manifest's other fields."""
    members = []
    for name, path in files.items():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        members.append((name, path.stat().st_size, digest))
    manifest = Manifest(FORMAT, __version__, **facts, members=members)
    text = json.dumps(asdict(manifest), indent=1).encode()
    checksum = hashlib.sha256(text).hexdigest().encode()

    def add(name: str, size: int, content: IO[bytes]) -> None:
        header = tarfile.TarInfo(name)
        header.size, header.mode, header.mtime = size, 0o600, manifest.created_at
        tar.addfile(header, content)

    # Streamed, because standard output may be a pipe.
    with tarfile.open(fileobj=output, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        add(_MANIFEST, len(text), io.BytesIO(text))
        for name, size, _ in members:
            with files[name].open("rb") as file:
                add(name, size, file)
        add(_CHECKSUM, len(checksum), io.BytesIO(checksum))
    return manifest


def read(source: IO[bytes], folder: Path | None = None) -> Manifest:
    """Return the manifest after checking every byte; copy the members to a folder.

    Raise `ArchiveError` if anything differs from what the manifest promises.
    """
    try:
        with tarfile.open(fileobj=source, mode="r|") as tar:
            return _read(tar, folder)
    except (tarfile.TarError, EOFError, LookupError, TypeError, ValueError):
        raise ArchiveError(
            "This is not a complete archive of `readback backup`: it was cut off, "
            "altered, or is encrypted."
        ) from None


def _read(tar: tarfile.TarFile, folder: Path | None) -> Manifest:
    text = b"".join(_content(tar, _MANIFEST, _MAX_MANIFEST_BYTES))
    facts = json.loads(text)
    if _release(facts["version"]) > _release(__version__) or facts["format"] > FORMAT:
        raise newer_version(facts["version"])
    manifest = Manifest(**{field.name: facts[field.name] for field in fields(Manifest)})
    names = [name for name, _, _ in manifest.members]
    if len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
        raise ValueError("names that are not ours")
    if not {DATABASE, SECRET_KEY} <= set(names):
        raise ValueError("not everything that belongs to a backup")
    if folder:
        (folder / BRAND).mkdir()
    for name, size, digest in manifest.members:
        found = hashlib.sha256()
        with (folder / name).open("xb") if folder else open(os.devnull, "wb") as copy:
            for chunk in _content(tar, name, size):
                found.update(chunk)
                copy.write(chunk)
        if found.hexdigest() != digest:
            raise ArchiveError(f"The archive is damaged: {name} was altered.")
    checksum = b"".join(_content(tar, _CHECKSUM, 64)).decode()
    if checksum != hashlib.sha256(text).hexdigest():
        raise ArchiveError(f"The archive is damaged: {_MANIFEST} was altered.")
    if tar.next() is not None:
        raise ArchiveError("The archive is damaged: it has more members than it lists.")
    return manifest


def _content(tar: tarfile.TarFile, name: str, size: int) -> Iterator[bytes]:
    """Read the next member, which must be this one and no larger."""
    member = tar.next()
    if member is None or member.name != name or member.type != tarfile.REGTYPE:
        raise ValueError("not the member that comes next")
    if member.size > size or member.issparse():
        raise ValueError("not its size")
    file = tar.extractfile(member)
    assert file is not None  # it is a regular file
    while chunk := file.read(_CHUNK):  # raises an error if it was cut off
        yield chunk


def newer_version(version: str) -> ArchiveError:
    return ArchiveError(
        f"The archive was made by Readback {version}, and this is {__version__}: "
        "install that version or a newer one."
    )


def _release(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]
