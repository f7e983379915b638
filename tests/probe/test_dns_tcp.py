"""DNS and TCP: cases that no misfortune covers."""

import errno
import socket
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from readback.probe.common.catalogue import from_error
from readback.probe.common.results import FailureFamily, ProbeError, Verdict
from readback.probe.connection import dns, tcp
from readback.probe.entered.base_url import BaseUrl
from readback.probe.transport import opening
from readback.probe.transport.connecting import ConnectAttempt, Route
from tests.probe import broken_servers
from tests.probe.probing import at, probed
from tests.probe.setups import ProbeInput

NOWHERE = Route(BaseUrl("https", "echo.invalid", 443, "/v1"))
BOTH = ("127.0.0.1", "127.0.0.2")


@pytest.mark.parametrize(
    ("number", "finding"),
    [(socket.EAI_NONAME, "dns.unknown"), (socket.EAI_AGAIN, "dns.failed")],
)
def test_an_unknown_name_differs_from_a_failing_dns_server(
    number: int, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_, **__):
        raise socket.gaierror(number, "the resolver's message")

    # The test must not send DNS queries.
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ProbeError) as caught:
        dns.check(at(NOWHERE))
    assert caught.value.id == finding


def test_a_dns_server_that_does_not_respond_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait() and [])
    with pytest.raises(ProbeError) as caught:
        dns.check(at(NOWHERE, timeout=0.1))
    released.set()
    assert caught.value.id == "dns.failed"


def test_a_host_name_resolves_to_its_addresses() -> None:
    context = at(Route(BaseUrl("http", "localhost", 80, "/v1")))
    (diagnosis,) = dns.check(context)
    assert diagnosis.id == "dns.ok"
    assert diagnosis.figure.endswith("ms")
    assert set(context.route.addresses) <= {"127.0.0.1", "::1"}


def test_an_unreachable_address_beside_a_reachable_one_is_a_warning() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        context = at(Route(BaseUrl("http", "echo.example", port, "/v1"), None, BOTH))
        [diagnosis] = tcp.check(context)
    assert (diagnosis.id, diagnosis.verdict) == ("tcp.partly", Verdict.WARN)
    assert "127.0.0.2 (connection refused)" in diagnosis.sentence
    assert context.route.addresses == ("127.0.0.1",)


def test_a_dead_address_beside_a_reachable_one_costs_a_moment() -> None:
    with (
        broken_servers.black_hole() as port,
        socket.create_server(("127.0.0.2", port)),
    ):
        route = Route(BaseUrl("http", "echo.example", port, "/v1"), None, BOTH)
        context = at(route, timeout=60)
        started = time.monotonic()
        [diagnosis] = tcp.check(context)
        elapsed = time.monotonic() - started
    assert diagnosis.id == "tcp.partly"
    assert "127.0.0.1 (no response)" in diagnosis.sentence
    assert context.route.addresses == ("127.0.0.2",)
    assert elapsed < 30


def test_a_name_that_dns_cannot_express_does_not_exist() -> None:
    route = Route(BaseUrl("http", "x" * 64, 80, "/v1"))
    with pytest.raises(ProbeError) as caught:
        dns.check(at(route))
    assert caught.value.id == "dns.unknown"


@pytest.mark.parametrize(
    ("host", "finding", "named"),
    [
        ("loclahost", "dns.unknown", "localhost"),
        ("api.opnai.com", "dns.unknown", "api.openai.com"),
        ("host.docker.internal", "dns.unknown", "host.docker.internal"),
        ("fe80::1%nosuch0", "dns.unknown", "nosuch0"),
        ("mail.corp", "dns.unknown", ".corp"),
    ],
)
def test_a_name_that_does_not_exist_is_explained(
    host: str, finding: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=unknown))
    with pytest.raises(ProbeError) as caught:
        dns.check(at(Route(BaseUrl("http", host, 8000, "/v1"))))
    diagnosis = from_error(caught.value)
    assert diagnosis.id == finding
    assert named in diagnosis.sentence + diagnosis.hint


def test_a_slow_lookup_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "_SLOW_SECONDS", 0.0)
    route = Route(BaseUrl("http", "localhost", 80, "/v1"))
    (diagnosis,) = dns.check(at(route, timeout=60))
    assert (diagnosis.id, diagnosis.verdict) == ("dns.slow", Verdict.WARN)
    assert diagnosis.figure in diagnosis.sentence


@pytest.mark.parametrize(
    ("address", "finding"),
    [("127.0.0.1", "dns.hosts_file"), ("192.0.2.1", "tcp.refused")],
)
def test_a_line_of_the_hosts_file_is_blamed_only_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str, finding: str
) -> None:
    file = tmp_path / "hosts"
    file.write_text("# 1 echo.test\n127.0.0.1 other\tEcho.example # here\n")
    monkeypatch.setattr(dns, "HOSTS_FILE", file)
    monkeypatch.setattr(dns, "resolve_within", lambda *_: [address])
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    attempts = [ConnectAttempt(address, 0.0, refused)]
    monkeypatch.setattr(tcp, "try_all", lambda *_: attempts)
    report = probed(ProbeInput("http://echo.example/v1", ""))
    assert (report.id, report.verdict) == (finding, Verdict.FAIL)
    assert report.family == FailureFamily.NETWORK
    assert not dns.is_in_hosts_file("echo.test")


def test_a_link_local_address_needs_an_interface() -> None:
    route = Route(BaseUrl("http", "fe80::1", 8000, "/v1"))
    attempt = ConnectAttempt("fe80::1", 0.0, OSError(errno.EINVAL, "Invalid argument"))
    error = tcp._no_connection(route, [attempt])
    assert from_error(error).id == "tcp.no_route"


def test_a_reset_while_connecting_is_not_a_missing_route() -> None:
    route = Route(BaseUrl("https", "echo.example", 443, "/v1"))
    reset = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
    error = tcp._no_connection(route, [ConnectAttempt("192.0.2.1", 0.0, reset)])
    assert from_error(error).id == "tcp.refused"


def test_ports_that_are_used_up_later_are_not_blamed_on_the_service() -> None:
    route = Route(BaseUrl("http", "echo.example", 80, "/v1"))
    used_up = OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
    assert from_error(opening.failed(route, used_up)).id == "tcp.forbidden"
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    assert from_error(opening.failed(route, refused)).id == "http.no_connection"
