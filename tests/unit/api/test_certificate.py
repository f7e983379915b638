"""How the expiry of the API's certificate is read, and when it is logged."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.waiting import PATIENCE

from readback.api import certificate
from readback.api.certificate import expiry


def test_a_file_that_cannot_be_read_has_no_expiry(tmp_path: Path) -> None:
    path = tmp_path / "certificate.pem"
    assert expiry(path) == 0
    path.write_text("not a certificate")
    assert expiry(path) == 0


@pytest.mark.parametrize("left", [-timedelta(days=1), timedelta(days=13)])
def test_an_expiry_that_is_near_or_past_is_logged_at_the_start_and_daily(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, left: timedelta
) -> None:
    monkeypatch.setattr(certificate, "_DAY_SECONDS", 0.001)
    end = datetime.now(UTC) + left

    async def pass_days() -> None:
        certificate.log_expiry(int(end.timestamp()))
        async with asyncio.timeout(PATIENCE):
            while len(caplog.messages) < 3:
                await asyncio.sleep(0)

    asyncio.run(pass_days())
    for message in caplog.messages:
        assert f"valid until {end:%Y-%m-%d %H:%M:%SZ}" in message
        assert "SIGHUP" in message


def test_nothing_is_logged_while_there_is_time_to_renew_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def start() -> None:
        end = datetime.now(UTC) + timedelta(days=15)
        certificate.log_expiry(int(end.timestamp()))

    asyncio.run(start())
    assert not caplog.messages
