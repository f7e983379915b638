"""The probe as one file that runs on any machine with Python: a zipapp.

It contains the probe, the shared modules that it needs, its only dependency, and all
licences. Builds of the same versions are identical, so that the checksum is meaningful.
Nothing here depends on Django.
"""

import io
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

NAME = "probe.pyz"

_PACKAGE = Path(__file__).parents[2]
_OWN_FILES = ("__init__.py", "contract.py", "keys.py")
_CERTIFI = "certifi"
_SUFFIXES = {".py", ".pem", ".txt"}
_OMITTED_FOLDERS = {"tests", "__pycache__"}
_READABLE_FILE = 0o100644 << 16


@cache
def checksum() -> str:
    return sha256(content()).hexdigest()


@cache
def content() -> bytes:
    """Return the file; it is built once in each process."""
    buffer = io.BytesIO(b"#!/usr/bin/env python3\n")
    buffer.seek(0, io.SEEK_END)
    with ZipFile(buffer, "w") as archive:
        for name, path in sorted(_files()):
            entry = ZipInfo(name)  # its timestamp is fixed
            entry.external_attr = _READABLE_FILE
            archive.writestr(entry, path.read_bytes(), ZIP_DEFLATED)
    return buffer.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    yield "__main__.py", _PACKAGE / "probe" / "__main__.py"
    for name in _OWN_FILES:
        yield f"readback/{name}", _PACKAGE / name
    yield from _modules("readback/probe", _PACKAGE / "probe")
    yield from _modules(_CERTIFI, Path(str(files(_CERTIFI))))
    yield from _licences(_CERTIFI)
    yield from _licences("readback-api")


def _modules(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.suffix in _SUFFIXES and not _OMITTED_FOLDERS & set(inside.parts):
            yield f"{name}/{inside.as_posix()}", path


def _licences(name: str) -> Iterator[tuple[str, Path]]:
    for file in distribution(name).files or []:
        if file.parts[0].endswith(".dist-info") and "LICENSE" in file.name.upper():
            yield f"licences/{name}/{file.name}", Path(str(file.locate()))
