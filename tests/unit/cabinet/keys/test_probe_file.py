"""The downloadable probe file: its contents, and that its build is reproducible."""

import io
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from readback.cabinet.keys import probe_file


@pytest.fixture(scope="module")
def archive() -> ZipFile:
    return ZipFile(io.BytesIO(probe_file.content()))


def test_the_file_is_small_and_two_builds_are_identical() -> None:
    assert probe_file.content.__wrapped__() == probe_file.content()
    assert len(probe_file.content()) < 2_000_000


def test_no_entry_depends_on_the_machine(archive: ZipFile) -> None:
    names = archive.namelist()
    assert names == sorted(set(names))
    for entry in archive.infolist():
        assert entry.date_time == (1980, 1, 1, 0, 0, 0)
        assert entry.external_attr == 0o100644 << 16
        assert entry.compress_type == ZIP_DEFLATED


def test_the_file_contains_the_probe_its_packages_and_nothing_else(
    archive: ZipFile,
) -> None:
    names = archive.namelist()
    roots = {name.partition("/")[0] for name in names}
    assert roots == {"__main__.py", "readback", "certifi", "licences"}
    own = {name.split("/")[1] for name in names if name.startswith("readback/")}
    assert own == {"__init__.py", "contract.py", "keys.py", "probe"}
    endings = {name.rpartition(".")[2] for name in names if "licences" not in name}
    assert endings == {"py", "pem", "txt"}
    assert not [name for name in names if "/tests/" in name]
    assert b"Apache License" in archive.read("licences/readback-api/LICENSE")
    assert b"Mozilla Public License" in archive.read("licences/certifi/LICENSE")
