"""A certificate that has expired is served, and the operator is told."""

from datetime import timedelta
from pathlib import Path

from tests.support.authority import Authority
from tests.support.metrics import metrics
from tests.support.server import UNLIMITED, ephemeral_server
from tests.support.waiting import wait_until

DAY = timedelta(days=1)


def test_an_expired_certificate_is_logged_once_and_in_the_metrics(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path / "authority")
    expired = str(authority.issue("localhost", -2 * DAY, -DAY))
    settings = UNLIMITED | {
        "READBACK_TLS_CERTIFICATE": expired,
        "READBACK_TLS_KEY": expired,
        "READBACK_WORKERS": "2",
    }
    with ephemeral_server(tmp_path, settings) as server:
        log = server.folder / "stderr"
        wait_until(
            lambda: metrics(server.ops_url)["database_readable_workers"] == 2,
            "both workers serve",
        )
        shown = metrics(server.ops_url)["certificate_expiry_timestamp_seconds"]
        started = metrics(server.ops_url)["start_time_seconds"]
        assert shown < started
    assert log.read_text().count("The certificate is valid until") == 1
