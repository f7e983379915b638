"""A proxy set in the environment is used, and its password is not reported."""

import base64
import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readback.probe.common.catalogue import from_error
from readback.probe.common.results import ProbeError, Verdict
from readback.probe.connection import proxies
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.output import text
from readback.probe.report import ProbeReport
from readback.probe.runner import STEPS, ProbeRun
from readback.probe.transport.connecting import Proxy, Route
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.opening import open_socket
from tests.probe import broken_servers
from tests.probe.gateway import Call, Reply, gateway, proxying
from tests.probe.setups import Resources

LOGIN = "alice:hush"
REMOTE = BaseUrl("https", "echo.example", 443, "/v1")


class Forwarding:
    """A proxy that requires `LOGIN`; it records the methods of forwarded requests."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    def __call__(self, call: Call) -> Reply:
        token = base64.b64encode(LOGIN.encode()).decode()
        if call["Proxy-Authorization"] != f"Basic {token}":
            return Reply(407)
        self.methods.append(call.method)
        return proxying()(call)


@pytest.fixture
def forwarded(resources: Resources, monkeypatch: pytest.MonkeyPatch):
    """Set a proxy; yield the methods of forwarded requests, and the proxy's address."""
    # A working proxy for a loopback address does not cause a warning.
    forwarding = Forwarding()
    with gateway(resources.readback.base_url, forwarding) as server:
        place = f"127.0.0.1:{server.port}"
        monkeypatch.setenv("http_proxy", f"http://{LOGIN}@{place}")
        monkeypatch.setenv("https_proxy", f"http://{LOGIN}@{place}")
        yield forwarding.methods, place


def probed(base_url: str, key: str) -> ProbeReport:
    return ProbeRun(ProbeContext(base_url, Secret(key), timeout=5)).run(STEPS)


def ids(report: ProbeReport) -> dict[str, str]:
    return {result.step: result.diagnosis.id for result in report.results}


def warnings(report: ProbeReport) -> list[str]:
    """Return the ids of all failures and warnings."""
    bad = (Verdict.WARN, Verdict.FAIL)
    return [
        result.diagnosis.id
        for result in report.results
        if result.diagnosis.verdict in bad
    ]


def test_plain_requests_go_through_the_proxy(
    forwarded: tuple[list[str], str], resources: Resources
) -> None:
    methods, place = forwarded
    report = probed(resources.readback.base_url, resources.readback.api_key)
    assert warnings(report) == [], ids(report)
    assert len(methods) == report.requests
    # Without TLS, the proxy can read the key.
    origin = resources.readback.base_url.removesuffix("/v1")
    assert report.key_sent_to == f"{origin} through the proxy {place}"
    password = LOGIN.partition(":")[2]
    assert password not in text.as_json(report) + text.as_short(report)


def test_encrypted_requests_go_through_a_tunnel(
    forwarded: tuple[list[str], str],
    resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(resources.authority.root))
    tls = [resources.authority.serves()]
    with gateway(resources.readback.base_url, tls=tls) as server:
        report = probed(server.base_url, resources.readback.api_key)
    assert warnings(report) == [], ids(report)
    assert ids(report)["tls"] == "tls.ok"
    assert set(forwarded[0]) == {"CONNECT"}


def test_no_proxy_bypasses_the_proxy(
    forwarded: tuple[list[str], str],
    resources: Resources,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    report = probed(resources.readback.base_url, resources.readback.api_key)
    assert ids(report)["proxies"] == "proxies.none"
    assert forwarded[0] == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_is_reached_over_tls(
    scheme: str, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, readback = resources.authority, resources.readback
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    tls, forwarding = [authority.serves()], Forwarding()
    with (
        gateway(readback.base_url, forwarding, tls=tls) as proxy,
        gateway(readback.base_url, tls=tls) as server,
    ):
        value = f"https://{LOGIN}@localhost:{proxy.port}"
        monkeypatch.setenv(f"{scheme}_proxy", value)
        url = server.base_url if scheme == "https" else readback.base_url
        report = probed(url, readback.api_key)
    assert warnings(report) == []
    assert ("CONNECT" in forwarding.methods) == (scheme == "https")


def test_a_proxy_that_sends_one_byte_now_and_then_is_not_waited_for(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()

    def drip(client: socket.socket) -> None:
        while not stopped.wait(0.1):
            client.sendall(b"H")

    with broken_servers.socket_server(drip) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        context = ProbeContext(
            str(REMOTE), Secret(resources.readback.api_key), timeout=0.5
        )
        report = ProbeRun(context).run(STEPS)
        stopped.set()
    assert report.id == "proxy.silent"


def test_an_error_page_is_quoted_without_control_characters(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = b"<title>\x1b[31mBlocked: sk-echo-0123456789abcdef</title>"
    fields = (("Server", "office\x07 filter"),)
    with gateway("", lambda _: Reply(403, "\x1b]0;No", fields, page)) as server:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{server.port}")
        report = probed(str(REMOTE), resources.readback.api_key)
    assert report.id == "proxy.cannot_connect"
    sentence = report.decisive.diagnosis.sentence
    assert sentence.isprintable()
    assert "Blocked" in sentence
    assert "office" in sentence
    assert "0123456789abcdef" not in sentence


@given(st.binary(max_size=40), st.sampled_from(["http", "socks5h"]))
@settings(max_examples=60)
def test_no_response_of_a_proxy_breaks_the_probe(response: bytes, scheme: str) -> None:
    head = b"HTTP/1.1 407 No\r\nProxy-Authenticate: " if scheme == "http" else b"\x05"

    def behave(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(head + response)
        client.close()

    with broken_servers.socket_server(behave) as port:
        proxy = Proxy(scheme, "127.0.0.1", port, "https_proxy", ("alice", "hush"))
        try:
            open_socket(Route(REMOTE, proxy), timeout=5).close()
        except ProbeError as error:
            assert from_error(error).sentence.isprintable()


@given(st.text(alphabet=st.characters(exclude_characters="\0"), max_size=40))
@settings(max_examples=200)
def test_no_value_of_a_proxy_variable_breaks_the_probe(value: str) -> None:
    for start in ("", "http://", "socks5://alice:", "http://alice:hush@"):
        try:
            proxies.read_setting(start + value, "https_proxy")
        except ProbeError as error:
            assert "hush" not in str(from_error(error))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://alice:hush@proxy.example:3128", "proxy.example:3128"),
        ("http://alice:p@hush@proxy.example:3128", "proxy.example:3128"),
        ("http://alice:100%hush@proxy.example:3128", "proxy.example:3128"),
        ("proxy.example:3128", "proxy.example:3128"),
        ("https://proxy.example", "proxy.example:443"),
    ],
)
def test_a_proxy_is_shown_without_its_login(
    value: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", value)
    [diagnosis], route = proxies.check(REMOTE)
    assert str(route.proxy) == shown
    assert shown in diagnosis.sentence
    assert "hush" not in str(diagnosis)


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        ("http://alice:hu#sh@proxy.example:3128", "proxies.malformed"),
        ("http://alice:12/34hush@proxy.example:3128", "proxies.malformed"),
        ("http://alice:12?34hush@proxy.example:3128", "proxies.malformed"),
        ("http://alice:hush", "proxies.malformed"),
        ("alice:hush", "proxies.malformed"),
        ("http://alice:hush#proxy.example:3128", "proxies.malformed"),
        ("http://[alice:hush@proxy.example:3128", "proxies.malformed"),
        (" http://alice:hush@proxy.example:3128", "proxies.malformed"),
        ("http://alice:hu sh@proxy.example:3128", "proxies.malformed"),
        ("'http://alice:hush@proxy.example:3128'", "proxies.malformed"),
        ("http://alice:hush@", "proxies.malformed"),
        ("http://alice:hush@:3128", "proxies.malformed"),
        ("http://alice:hush@proxy,example:3128", "proxies.malformed"),
        ("ftp://alice:hush@proxy.example:3128", "proxies.malformed"),
        ("alice://hush", "proxies.malformed"),
        ("ftp://alice:hush", "proxies.malformed"),
    ],
)
def test_an_unusable_value_is_explained_without_its_password(
    value: str, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", value)
    with pytest.raises(ProbeError) as caught:
        proxies.check(REMOTE)
    assert caught.value.id == finding
    if value != "alice://hush":  # Here, "hush" may be the host.
        assert "hush" not in str(from_error(caught.value))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_password_that_the_proxy_refuses_is_sent_only_once(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = []

    def refuse(call: Call) -> Reply:
        received.append(call["Proxy-Authorization"])
        return Reply(407)

    with gateway("", refuse) as server:
        proxy = f"http://{LOGIN}@127.0.0.1:{server.port}"
        monkeypatch.setenv(f"{scheme}_proxy", proxy)
        report = probed(f"{scheme}://echo.example/v1", "")
    assert report.id == "proxy.login"
    assert len(received) == 1


def test_a_password_with_encoded_characters_reaches_the_proxy_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://al%40ice:hu%23sh@proxy.example:3128")
    found, route = proxies.check(REMOTE)
    assert [diagnosis.id for diagnosis in found] == ["proxies.used"]
    assert route.proxy
    assert route.proxy.login == ("al@ice", "hu#sh")


def test_a_password_that_is_not_utf_8_can_be_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://alice:h\udcffsh@proxy.example:3128")
    _, route = proxies.check(REMOTE)
    assert route.proxy
    assert route.proxy.authorization


@pytest.mark.parametrize(
    ("value", "finding"),
    [
        ("echo.example", "proxies.none"),
        (".example", "proxies.none"),
        ("other.example, echo.example", "proxies.none"),
        ("*", "proxies.none"),
        ("other.example echo.example", "proxies.no_proxy_ignored"),
        ("other.example;echo.example", "proxies.no_proxy_ignored"),
        ("*.example", "proxies.no_proxy_ignored"),
        ("https://echo.example", "proxies.no_proxy_ignored"),
        ("echo.example:443", "proxies.no_proxy_ignored"),
        ("echo.example:8080", "proxies.used"),
        ("cho.example", "proxies.used"),
        ("", "proxies.used"),
    ],
)
def test_what_no_proxy_really_excludes(
    value: str, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", value)
    found, _ = proxies.check(REMOTE)
    assert found[-1].id == finding


def test_a_network_in_no_proxy_does_not_exclude_its_addresses_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "10.0.0.0/8")
    found, _ = proxies.check(BaseUrl("https", "10.1.2.3", 443, "/v1"))
    assert found[-1].id == "proxies.no_proxy_ignored"
