"""The archive of a backup: what is cut off, altered, newer or hostile is refused."""

import hashlib
import io
import json
import tarfile

import pytest

from readback import __version__
from readback.cli.backup import archive
from readback.cli.backup.archive import ArchiveError
from readback.cli.backup.postgresql import _folder
from readback.cli.exit_codes import Failure

FACTS = {
    "created_at": 1_800_000_000,
    "database": "sqlite",
    "database_version": "3.40.1",
    "migrations": ["cabinet.0001_initial"],
    "roles": [],
    "settings": {},
    "secrets": [],
}
CONTENT = {"database": b"rows " * 500, "secret-key": b"k" * 64}
BLOCK = 512


@pytest.fixture
def whole(tmp_path):
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
    output = io.BytesIO()
    archive.write(output, {name: tmp_path / name for name in CONTENT}, FACTS)
    return output.getvalue()


def tar_of(members):
    """Return a tar file with these (header, content) in their order."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        for header, content in members:
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    return output.getvalue()


def listed(content):
    return [
        [name, len(each), hashlib.sha256(each).hexdigest()]
        for name, each in content.items()
    ]


def forged(*extra, **changes):
    """Return an archive with valid digests whose manifest has these changes."""
    facts = {"format": 1, "version": __version__, **FACTS, "members": listed(CONTENT)}
    text = json.dumps(facts | changes).encode()
    digest = hashlib.sha256(text).hexdigest().encode()
    parts = [
        ("manifest.json", text),
        *CONTENT.items(),
        *extra,
        ("manifest.sha256", digest),
    ]
    return tar_of((tarfile.TarInfo(name), content) for name, content in parts)


def refusal_of(data, folder=None):
    with pytest.raises(ArchiveError) as raised:
        archive.read(io.BytesIO(data), folder)
    return str(raised.value)


def test_what_is_read_is_what_was_written(whole, tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    found = archive.read(io.BytesIO(whole), folder)
    assert (found.version, found.created_at) == (__version__, FACTS["created_at"])
    copied = [path for path in folder.iterdir() if path.is_file()]
    assert {each.name: each.read_bytes() for each in copied} == CONTENT
    assert archive.read(io.BytesIO(forged())).members


def test_an_archive_that_is_cut_off_anywhere_is_refused(whole):
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        last = tar.getmembers()[-1]
    end = last.offset_data + last.size
    for length in [*range(0, end, BLOCK), end - 1]:
        assert refusal_of(whole[:length]).startswith("This is not a complete archive")


def test_an_archive_in_which_any_byte_of_a_member_was_altered_is_refused(whole):
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        members = tar.getmembers()
    for member in members:
        for place in {0, member.size // 2, member.size - 1}:
            altered = bytearray(whole)
            altered[member.offset_data + place] ^= 1
            assert refusal_of(bytes(altered)).startswith(("The archive", "This is not"))


@pytest.mark.parametrize("changes", [{"version": "99.0.0"}, {"format": 2}])
def test_an_archive_of_a_newer_version_is_refused(changes):
    version = changes.get("version", __version__)
    assert refusal_of(forged(**changes)) == (
        f"The archive was made by Readback {version}, and this is {__version__}: "
        "install that version or a newer one."
    )


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/evil", "brand/../evil", "brand/.evil", "database/evil"]
)
def test_no_member_is_extracted_to_a_path_of_its_choice(name, tmp_path):
    folder = tmp_path / "inner" / "copy"
    folder.mkdir(parents=True)
    members = listed({**CONTENT, name: b"x"})
    refusal_of(forged((name, b"x"), members=members), folder)
    refusal_of(forged((name, b"x")), folder)
    assert not list(tmp_path.rglob("*evil"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_links_and_other_kinds_of_files_are_refused(kind):
    empty = {**CONTENT, "database": b""}
    data = forged(members=listed(empty))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = [(each, tar.extractfile(each).read()) for each in tar.getmembers()]
    header, _ = found[1]
    header.type, header.linkname = kind, "/etc/passwd"
    found[1] = header, b""
    assert "not a complete archive" in refusal_of(tar_of(found))


def test_a_member_that_is_not_listed_is_refused(whole):
    header = tarfile.TarInfo("more")
    end = whole.rindex(b"manifest.sha256") + 2 * BLOCK
    assert "more members" in refusal_of(whole[:end] + header.tobuf() + bytes(2 * BLOCK))


def test_a_large_manifest_is_refused():
    assert "not a complete archive" in refusal_of(forged(padding=" " * (1 << 20)))


@pytest.mark.parametrize("data", [b"", b"{}", b"age-encryption.org/v1\n" + bytes(2048)])
def test_another_file_is_refused_in_one_sentence(data):
    assert refusal_of(data).endswith("cut off, altered, or is encrypted.")


def test_missing_programs_of_postgresql_are_named():
    with pytest.raises(Failure, match="PostgreSQL 99.* postgresql-client-99"):
        _folder(99)
