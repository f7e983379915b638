"""The archive of `readback backup`: a tar file that begins with a list of its members.

Only plain files with names of ours are read, in the order of the list, and nothing is
compressed: an archive never unpacks to more than its own size.
"""

import io
import json
import re
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from readback.cli.exit_codes import Failure

DATABASE, SECRET_KEY, BRAND = "database", "secret-key", "brand"
_MANIFEST = "manifest.json"
_MAX_MANIFEST_BYTES = 1 << 20
_MAX_TIME = 1 << 33  # seconds of Unix time, which every database can store
# Names become paths, so no others are accepted.
NAME = re.compile(rf"{DATABASE}|{SECRET_KEY}|{BRAND}/[A-Za-z0-9][A-Za-z0-9._-]{{,80}}")


def write(
    output: IO[bytes], files: Mapping[str, Path], facts: Mapping[str, Any]
) -> None:
    text = json.dumps({**facts, "members": list(files)}, indent=1).encode()
    # Streamed, because standard output may be a pipe.
    with tarfile.open(fileobj=output, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for name in (_MANIFEST, *files):
            with files[name].open("rb") if name in files else io.BytesIO(text) as file:
                header = tarfile.TarInfo(name)
                header.size, header.mode = file.seek(0, io.SEEK_END), 0o600
                header.mtime = facts["created_at"]
                file.seek(0)
                tar.addfile(header, file)
    output.flush()


def read(source: IO[bytes], folder: Path) -> dict[str, Any]:
    """Copy the members to a folder; return the manifest.

    End the command with a sentence if anything differs from what the manifest lists.
    """
    try:
        with tarfile.open(fileobj=source, mode="r|", tarinfo=_PlainFile) as tar:
            return _read(tar, folder)
    except (tarfile.TarError, EOFError, LookupError, RecursionError, ValueError):
        raise Failure(
            "This is not a complete archive of `readback backup`: it was cut off, "
            "altered, or is encrypted."
        ) from None


class _PlainFile(tarfile.TarInfo):
    """A member that is neither a link nor a device nor a header of any length."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type != tarfile.REGTYPE:
            raise ValueError("not a plain file")
        return member


def _read(tar: tarfile.TarFile, folder: Path) -> dict[str, Any]:
    manifest = json.loads(_next(tar, _MANIFEST).read(_MAX_MANIFEST_BYTES))
    if not _is_ours(manifest):
        raise ValueError("not the manifest of a backup")
    names: list[str] = manifest["members"]
    (folder / BRAND).mkdir()
    for name in names:
        with (folder / name).open("xb") as copy:
            shutil.copyfileobj(_next(tar, name), copy)  # an error if it was cut off
    if tar.next() is not None:
        raise ValueError("more members than it lists")
    return dict(manifest)


def _is_ours(manifest: Any) -> bool:
    match manifest:
        case {
            "readback": str(),
            "database": str(),
            "created_at": int(made_at),
            "migrations": [*migrations],
            "members": [*names],
        } if all(isinstance(each, str) for each in (*migrations, *names)):
            is_complete = {DATABASE, SECRET_KEY} <= set(names)
            is_exact = len(set(names)) == len(names)
            is_safe = all(map(NAME.fullmatch, names))
            return is_complete and is_exact and is_safe and 0 <= made_at < _MAX_TIME
    return False


def _next(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    """Return the content of the next member, which must have this name."""
    member = tar.next()
    if member is None or member.name != name:
        raise ValueError("not the member that has to follow")
    content = tar.extractfile(member)
    assert content is not None  # it is a plain file
    return content
