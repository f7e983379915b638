"""SOCKS proxies are really used, and their failures are diagnosed."""

import pytest

from readback.probe.common.results import FailureFamily, ProbeError
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.output.text import as_json
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.connecting import Proxy, Route
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.opening import open_socket
from tests.probe import broken_servers
from tests.probe.gateway import gateway
from tests.probe.setups import Resources
from tests.probe.socks_proxy import socks_proxy

ALICE = ("alice", "hu#sh")
# All steps except the one with advice for other programs.
QUICK_STEPS = tuple(step for step in STEPS if step.id != "clients")
REMOTE = BaseUrl("https", "echo.example", 443, "/v1")


@pytest.mark.parametrize(
    ("scheme", "target"),
    [
        ("socks5h", "localhost"),
        ("socks5", "127.0.0.1"),
    ],
)
def test_a_whole_walk_goes_through_the_proxy(
    scheme: str,
    target: str,
    resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socks_proxy() as server:
        value = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("all_proxy", value)
        url = resources.readback.base_url.replace("127.0.0.1", "localhost")
        context = ProbeContext(url, Secret(resources.readback.api_key), timeout=5)
        report = ProbeRun(context).run(QUICK_STEPS)
    assert report.family == FailureFamily.NONE, report.id
    assert "proxies.used" in {result.diagnosis.id for result in report.results}
    assert any("httpx[socks]" in note for note in report.notes)
    assert set(server.targets) == {target}


def test_an_encrypted_walk_goes_through_the_proxy(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, readback = resources.authority, resources.readback
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    with (
        socks_proxy() as proxy,
        gateway(readback.base_url, tls=[authority.serves()]) as server,
    ):
        value = f"socks5h://127.0.0.1:{proxy.server_address[1]}"
        monkeypatch.setenv("all_proxy", value)
        context = ProbeContext(server.base_url, Secret(readback.api_key), timeout=5)
        report = ProbeRun(context).run(QUICK_STEPS)
    assert report.family == FailureFamily.NONE, report.id
    assert "tls.ok" in {result.diagnosis.id for result in report.results}
    assert set(proxy.targets) == {"localhost"}


def test_the_proxy_gets_the_password_and_the_report_does_not(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socks_proxy(login=ALICE) as server:
        value = f"socks5h://alice:hu%23sh@127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("all_proxy", value)
        key = Secret(resources.readback.api_key)
        context = ProbeContext(resources.readback.base_url, key, timeout=5)
        report = ProbeRun(context).run(QUICK_STEPS)
    assert report.family == FailureFamily.NONE, report.id
    assert "sh@" not in as_json(report)
    assert "hu#sh" not in as_json(report)


@pytest.mark.parametrize(
    ("reply", "finding"),
    [
        (2, "proxy.cannot_connect"),
        (4, "proxy.cannot_reach"),
        (5, "proxy.cannot_reach"),
        (99, "proxy.cannot_reach"),
    ],
)
def test_each_reply_has_its_diagnosis(reply: int, finding: str) -> None:
    with socks_proxy(reply=reply) as server:
        assert failure(server.server_address[1]).id == finding


def test_a_proxy_that_requires_a_login_says_so() -> None:
    with socks_proxy(login=ALICE) as server:
        assert failure(server.server_address[1]).id == "proxy.login"


@pytest.mark.parametrize("password", ["wrong", "x" * 256], ids=["wrong", "too long"])
def test_a_password_that_is_not_accepted_is_reported(password: str) -> None:
    with socks_proxy(login=ALICE) as server:
        port = server.server_address[1]
        error = failure(port, login=("alice", password))
    assert error.id == "proxy.login"


@pytest.mark.parametrize(
    ("response", "finding"),
    [
        (b"", "proxy.wrong_kind"),
        (b"\x05", "proxy.wrong_kind"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "proxy.wrong_kind"),
        (b"\x05\x01", "proxy.login_scheme"),
        (b"\x05\x00\x05\x00\x00\x03\xff", "proxy.wrong_kind"),
    ],
)
def test_a_broken_proxy_is_reported(response: bytes, finding: str) -> None:
    def behave(client) -> None:
        client.recv(65536)
        client.sendall(response)
        client.close()

    with broken_servers.socket_server(behave) as port:
        assert failure(port).id == finding


def test_a_name_that_this_machine_has_to_resolve_is_not_sent() -> None:
    unknown = BaseUrl("https", "x" * 64, 443, "/v1")
    with socks_proxy() as server:
        error = failure(server.server_address[1], scheme="socks5", target=unknown)
    assert error.id == "proxies.malformed"
    assert server.targets == []


def failure(
    port: int,
    login: tuple[str, str] | None = None,
    scheme: str = "socks5h",
    target: BaseUrl = REMOTE,
) -> ProbeError:
    proxy = Proxy(scheme, "127.0.0.1", port, "all_proxy", login)
    with pytest.raises(ProbeError) as caught:
        open_socket(Route(target, proxy), timeout=5)
    return caught.value
