"""The end of the certificate that the API serves."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.authority import Authority

from readback.api.certificate import ExpiryLog, expiry


def test_it_is_that_of_the_server_and_not_of_its_authority(tmp_path: Path) -> None:
    chained = Authority(tmp_path).issue("localhost", until=timedelta(days=20))
    left = expiry(chained) - datetime.now(UTC).timestamp()
    assert timedelta(days=19) < timedelta(seconds=left) <= timedelta(days=20)


def test_a_file_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    path = tmp_path / "certificate.pem"
    assert expiry(path) == 0
    path.write_text("not a certificate")
    assert expiry(path) == 0


def lines_about(
    caplog: pytest.LogCaptureFixture, left: timedelta, ticks: list[float]
) -> list[str]:
    """Return what is logged with this time left, at these monotonic times."""
    wall = 2_000_000_000.0
    log = ExpiryLog(int(wall + left.total_seconds()))
    for now in ticks:
        log.tick(now, wall)
    return [record.getMessage() for record in caplog.records]


HOURLY = [hour * 3600.0 for hour in range(49)]


def test_a_certificate_that_has_expired_is_logged_at_the_start_and_daily(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = lines_about(caplog, -timedelta(seconds=1), HOURLY)
    assert len(lines) == 3
    assert "expired on 2033-05-18 03:33:19Z" in lines[0] and "SIGHUP" in lines[0]


def test_a_certificate_that_ends_soon_is_logged_daily(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = lines_about(caplog, timedelta(days=13, hours=1), HOURLY)
    assert len(lines) == 3 and "expires in 13 days" in lines[0]


def test_a_certificate_that_ends_later_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert lines_about(caplog, timedelta(days=15), HOURLY) == []


def test_without_a_certificate_nothing_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ExpiryLog(0).tick(0.0, 2_000_000_000.0)
    assert caplog.records == []
