"""The end of the certificate that the API serves."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.authority import Authority

from readback.api.certificate import expiry


def test_it_is_that_of_the_server_and_not_of_its_authority(tmp_path: Path) -> None:
    chained = Authority(tmp_path).issue("localhost", until=timedelta(days=20))
    left = expiry(chained) - datetime.now(UTC).timestamp()
    assert timedelta(days=19) < timedelta(seconds=left) <= timedelta(days=20)


def test_a_file_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    path = tmp_path / "certificate.pem"
    assert expiry(path) == 0
    path.write_text("not a certificate")
    assert expiry(path) == 0
