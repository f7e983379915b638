"""The end of the certificate that the API serves."""

from datetime import timedelta
from pathlib import Path

import pytest

from readback.api.certificate import ExpiryLog, expiry


def test_a_file_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    path = tmp_path / "certificate.pem"
    assert expiry(path) == 0
    path.write_text("not a certificate")
    assert expiry(path) == 0


@pytest.mark.parametrize(
    ("left", "lines"),
    [
        (-timedelta(seconds=1), ["expired on 2033-05-18 03:33:19Z"] * 3),
        (timedelta(days=13, hours=1), ["expires in 13 days"] * 3),
        (timedelta(days=15), []),
        (-timedelta(seconds=2_000_000_000), []),  # there is no certificate
    ],
)
def test_its_end_is_logged_at_the_start_and_daily(
    caplog: pytest.LogCaptureFixture, left: timedelta, lines: list[str]
) -> None:
    wall = 2_000_000_000.0
    log = ExpiryLog(int(wall + left.total_seconds()))
    for hour in range(49):
        log.tick(hour * 3600.0, wall)
    assert len(caplog.messages) == len(lines)
    for message, line in zip(caplog.messages, lines, strict=True):
        assert line in message and "SIGHUP" in message
