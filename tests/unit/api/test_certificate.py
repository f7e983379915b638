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


@pytest.mark.parametrize(("days", "is_logged"), [(-1, True), (13, True), (15, False)])
def test_an_expiry_that_is_near_or_past_is_logged_at_the_start_and_daily(
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    is_logged: bool,
) -> None:
    monkeypatch.setattr(certificate, "_DAY_SECONDS", 0.001)
    end = datetime.now(UTC) + timedelta(days=days)

    async def pass_days() -> None:
        certificate.log_expiry(int(end.timestamp()))
        async with asyncio.timeout(PATIENCE):
            while is_logged and len(caplog.messages) < 3:
                await asyncio.sleep(0)

    asyncio.run(pass_days())
    assert bool(caplog.messages) == is_logged
    for message in caplog.messages:
        assert f"valid until {end:%Y-%m-%d %H:%M:%SZ}" in message
        assert "SIGHUP" in message
