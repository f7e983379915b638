"""The cabinet is asked over TLS even if the API is reached without it."""

import pytest

from tests.probe.gateway import as_json, gateway
from tests.probe.probing import probed
from tests.probe.setups import ProbeInput, Resources


def test_a_cabinet_may_use_https_although_the_api_does_not(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    readback = resources.readback
    shown = as_json(200, {"base_url": readback.base_url})
    with gateway("", shown, tls=[resources.authority.serves()]) as web:
        cabinet = f"https://localhost:{web.port}"
        report = probed(
            ProbeInput(readback.base_url, readback.api_key, cabinet=cabinet)
        )
    assert "cabinet" not in {one.step for one in report.results}
    assert report.id == "ok"
