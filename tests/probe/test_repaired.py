"""Small problems that were once diagnosed incorrectly, or not at all."""

import errno
import socket
import ssl
from dataclasses import replace

import pytest

from readback.probe.common.catalogue import from_error
from readback.probe.connection import proxies, stores, tcp, tls
from readback.probe.entered.base_url import BaseUrl
from readback.probe.entered.key import Secret
from readback.probe.transport import opening
from readback.probe.transport.connecting import ConnectAttempt, Proxy, Route
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.exchanges import outcome_of
from readback.probe.transport.handshake import Handshake
from tests.probe.broken_servers import socket_server
from tests.probe.probing import probed
from tests.probe.setups import ProbeInput, Resources, over_tls, serving
from tests.support.peers import StoredPeer

SERVICE = BaseUrl("https", "api.example.org", 443, "/v1")


def ids(found) -> list[str]:
    return [diagnosis.id for diagnosis in found]


@pytest.mark.parametrize("schemes", [("http", "https"), ("https", "http")])
def test_a_proxy_for_the_other_scheme_is_named(
    schemes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_for, scheme = schemes
    variable = f"{set_for.upper()}_PROXY"
    monkeypatch.setenv(f"{set_for}_proxy", "http://proxy.example:3128")
    [found], _ = proxies.check(replace(SERVICE, scheme=scheme))
    assert variable in found.sentence


@pytest.mark.parametrize(
    ("has_ipv6", "finding"), [(True, "tcp.no_family"), (False, "tcp.no_route")]
)
def test_a_machine_with_only_ipv6_is_told_from_one_that_is_offline(
    has_ipv6: bool, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp, "has_ipv6", lambda: has_ipv6)
    failed = [ConnectAttempt("192.0.2.1", 0.0, OSError(errno.ENETUNREACH, "no"))]
    error = tcp._no_connection(Route(SERVICE), failed)
    assert (error.id, error.facts["family"]) == (finding, "IPv4")


def test_an_address_without_a_route_beside_one_that_works_is_no_problem() -> None:
    attempts = [
        ConnectAttempt("192.0.2.1", 0.0, OSError(errno.ENETUNREACH, "no route")),
        ConnectAttempt("2001:db8::1", 0.1),
    ]
    assert list(tcp._findings(SERVICE.host, attempts)) == ["tcp.ok"]


def test_a_server_on_one_address_of_localhost_is_no_problem() -> None:
    refused = ConnectAttempt("::1", 0.0, ConnectionRefusedError(errno.ECONNREFUSED, ""))
    attempts = [refused, ConnectAttempt("127.0.0.1", 0.1)]
    assert list(tcp._findings("localhost", attempts)) == ["tcp.ok"]
    assert list(tcp._findings("echo.example", attempts)) == ["tcp.partly"]


def test_a_service_on_the_host_of_a_container_must_listen_for_it() -> None:
    route = Route(BaseUrl("http", "host.docker.internal", 11434, "/v1"))
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    error = tcp._no_connection(route, [ConnectAttempt("172.17.0.1", 0.0, refused)])
    assert error.id == "tcp.refused"
    assert "0.0.0.0" in from_error(error).hint


def test_interim_responses_come_before_a_tunnel() -> None:
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connected\r\n\r\n"
    proxy = Proxy("http", "proxy.example", 3128, "https_proxy")
    opening._open_tunnel(StoredPeer(head), proxy, SERVICE, 1e12)  # type: ignore[arg-type]


def test_a_connection_that_cannot_be_opened_is_not_a_closed_one() -> None:
    late = opening.failed(Route(SERVICE), TimeoutError("timed out"))
    assert late.id == "http.no_connection"
    assert outcome_of(late) == "no response"


def test_an_alert_at_an_ip_address_is_told_in_the_words_of_the_server() -> None:
    context = ProbeContext("https://192.0.2.1/v1", Secret(""))
    context.base_url = BaseUrl("https", "192.0.2.1", 443, "/v1")
    error = ssl.SSLError(1, "[SSL: X] sslv3 alert handshake failure (_ssl.c:1)")
    seen = Handshake(is_refused=True, error=error)
    explained = tls.explain_broken(context, seen)
    assert explained.id == "tls.refused"
    assert "handshake failure" in str(explained.facts["reason"])


def test_a_variable_that_hides_the_store_of_the_machine_is_the_cause(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    other = tmp_path / "other.pem"
    other.write_text(stores.certifi.contents())

    def machine() -> ssl.SSLContext:
        trust = stores.new_context()
        trust.load_verify_locations(resources.authority.root)
        return trust

    monkeypatch.setattr(stores, "_machine", machine)
    with over_tls(serving())(resources) as probe_input:
        monkeypatch.setenv("SSL_CERT_FILE", str(other))
        report = probed(ProbeInput(probe_input.base_url, probe_input.key))
    assert report.id == "tls.store"
    assert "SSL_CERT_FILE" in report.sentence


def test_a_port_that_waits_for_more_of_a_handshake_costs_no_time_out(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(client: socket.socket) -> None:
        if client.recv(65536).startswith(b"GET "):
            client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            client.close()

    monkeypatch.setattr(tls, "_TLS_PATIENCE_SECONDS", 0.1)
    with socket_server(refuse) as port:
        url = f"http://127.0.0.1:{port}/v1"
        report = probed(ProbeInput(url, resources.readback.api_key, timeout=60.0))
    assert report.seconds < 60.0
