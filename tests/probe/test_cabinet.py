"""The cabinet is asked over TLS even if the API is reached without it."""

import json

import pytest

from tests.probe.probing import probed
from tests.probe.relay import Response, relay
from tests.probe.setups import ProbeInput, Resources


def test_a_cabinet_may_use_https_although_the_api_does_not(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    readback = resources.readback
    body = json.dumps({"base_url": readback.base_url}).encode()
    shown = Response(200, "OK", {"Content-Type": "application/json"}, body)
    certificate = resources.authority.serves()
    with relay(readback.base_url, on_response=lambda _: shown, tls=certificate) as web:
        cabinet = f"https://localhost:{web.server_port}"
        report = probed(
            ProbeInput(readback.base_url, readback.api_key, cabinet=cabinet)
        )
    assert "cabinet" not in {one.step for one in report.results}
    assert report.id == "ok"
