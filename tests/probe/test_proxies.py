"""A proxy set in the environment is used and reported without its password."""

from collections.abc import Iterator

import pytest

from readback.probe.connection import proxies
from readback.probe.context import ProbeContext
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.secret import Secret
from readback.probe.output import formats
from readback.probe.report import ProbeReport
from readback.probe.results import Verdict
from readback.probe.runner import STEPS, run_probe
from tests.probe import broken_servers
from tests.probe.displays import SilentDisplay
from tests.probe.forward_proxy import LOGIN, ForwardProxy, forward_proxy
from tests.probe.relay import relay
from tests.probe.setups import Resources

REMOTE = BaseUrl("https", "echo.example", 443, "/v1")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForwardProxy]:
    with forward_proxy() as server:
        url = f"http://{LOGIN}@127.0.0.1:{server.server_port}"
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("https_proxy", url)
        yield server


def probed(base_url: str, key: str) -> ProbeReport:
    return run_probe(
        ProbeContext(base_url, Secret(key), timeout=5), STEPS, SilentDisplay()
    )


def ids(report: ProbeReport) -> dict[str, str]:
    return {result.step: result.diagnosis.id for result in report.results}


def test_plain_requests_go_through_the_proxy(
    proxy: ForwardProxy, resources: Resources
) -> None:
    report = probed(resources.readback.base_url, resources.readback.api_key)
    assert report.verdict == Verdict.OK, ids(report)
    assert ids(report)["proxies"] == "proxies.used"
    assert len(proxy.forwarded) == report.requests
    # The proxy can read it.
    origin = resources.readback.base_url.removesuffix("/v1")
    through = f"through the proxy 127.0.0.1:{proxy.server_port}"
    assert report.key_sent_to == f"{origin} {through}"
    password = LOGIN.partition(":")[2]
    assert password not in formats.as_json(report) + formats.as_markdown(report)


def test_encrypted_requests_go_through_a_tunnel(
    proxy: ForwardProxy, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    with relay(resources.readback.base_url, tls=resources.authority.serves()) as server:
        url = f"https://localhost:{server.server_port}/v1"
        report = probed(url, resources.readback.api_key)
    assert report.verdict == Verdict.OK, ids(report)
    assert ids(report)["tls"] == "tls.ok"
    assert set(proxy.forwarded) == {"CONNECT"}
    [latency] = [
        result.diagnosis for result in report.results if result.step == "latency"
    ]
    assert {"connect", "tls", "answer"} <= set(latency.facts)


def test_no_proxy_bypasses_the_proxy(
    proxy: ForwardProxy, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    report = probed(resources.readback.base_url, resources.readback.api_key)
    assert ids(report)["proxies"] == "proxies.bypassed"
    assert proxy.forwarded == []


def test_a_proxy_that_does_not_respond_is_reported_with_the_reason(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with broken_servers.socket_server(broken_servers.stay_silent) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        context = ProbeContext(
            str(REMOTE), Secret(resources.readback.api_key), timeout=0.5
        )
        report = run_probe(context, STEPS, SilentDisplay())
    assert report.decisive
    assert report.decisive.diagnosis.facts["reason"] == "timed out"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://alice:hush@proxy.example:3128", "proxy.example:3128"),
        ("proxy.example:3128", "proxy.example:3128"),
        ("https://proxy.example", "proxy.example:443"),
    ],
)
def test_a_proxy_is_shown_without_its_login(
    value: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", value)
    diagnosis, route = proxies.check(REMOTE)
    assert str(route.proxy) == shown
    assert shown in diagnosis.sentence
    assert "hush" not in str(diagnosis)
