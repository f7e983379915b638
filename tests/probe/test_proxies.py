"""A proxy in the environment is used, reported, and its password kept quiet."""

from collections.abc import Iterator

import pytest

from readback.probe import proxies
from readback.probe.address import Address
from readback.probe.findings import Verdict
from readback.probe.output import forms
from readback.probe.report import Report
from readback.probe.scene import Scene
from readback.probe.secret import Secret
from readback.probe.walk import STEPS, walk
from tests.probe.displays import Silent
from tests.probe.relay import relay
from tests.probe.situations import World
from tests.probe.tunnel import LOGIN, Proxy, forward_proxy

FAR = Address("https", "echo.example", 443, "/v1")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with forward_proxy() as server:
        url = f"http://{LOGIN}@127.0.0.1:{server.server_port}"
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("https_proxy", url)
        yield server


def probed(base_url: str, key: str) -> Report:
    return walk(Scene(base_url, Secret(key), timeout=5), STEPS, Silent())


def ids(report: Report) -> dict[str, str]:
    return {line.step: line.finding.id for line in report.lines}


def test_plain_requests_go_through_the_proxy(proxy: Proxy, world: World) -> None:
    report = probed(world.readback.base_url, world.readback.api_key)
    assert report.verdict == Verdict.OK, ids(report)
    assert ids(report)["proxies"] == "proxies.used"
    assert len(proxy.passed) == report.requests
    password = LOGIN.partition(":")[2]
    assert password not in forms.as_json(report) + forms.as_markdown(report)


def test_encrypted_requests_go_through_a_tunnel(
    proxy: Proxy, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(world.authority.root))
    with relay(world.readback.base_url, tls=world.authority.serves()) as server:
        url = f"https://localhost:{server.server_port}/v1"
        report = probed(url, world.readback.api_key)
    assert report.verdict == Verdict.OK, ids(report)
    assert ids(report)["tls"] == "tls.ok"
    assert set(proxy.passed) == {"CONNECT"}
    [latency] = [line.finding for line in report.lines if line.step == "latency"]
    assert {"connect", "tls", "answer"} <= set(latency.facts)


def test_no_proxy_leads_past_it(
    proxy: Proxy, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    report = probed(world.readback.base_url, world.readback.api_key)
    assert ids(report)["proxies"] == "proxies.bypassed"
    assert proxy.passed == []


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
    finding, route = proxies.check(FAR)
    assert route.proxy == shown
    assert shown in finding.sentence
    assert "hush" not in str(finding)
