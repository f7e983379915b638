"""DNS and TCP: cases that no scenario covers."""

import socket
import threading
import time

import pytest

from readback.probe.common.results import ProbeError, Verdict
from readback.probe.connection import dns, tcp
from readback.probe.entered.base_url import BaseUrl
from readback.probe.transport.route import Route
from tests.probe import broken_servers

NOWHERE = Route(BaseUrl("https", "echo.invalid", 443, "/v1"))


@pytest.mark.parametrize(
    ("number", "id"),
    [(socket.EAI_NONAME, "dns.unknown"), (socket.EAI_AGAIN, "dns.failed")],
)
def test_an_unknown_name_differs_from_a_failing_dns_server(
    number: int, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_, **__):
        raise socket.gaierror(number, "the resolver's message")

    # The test must not send DNS queries.
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ProbeError) as caught:
        dns.check(NOWHERE, timeout=5)
    assert caught.value.id == id


def test_a_dns_server_that_does_not_respond_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait() and [])
    with pytest.raises(ProbeError) as caught:
        dns.check(NOWHERE, timeout=0.1)
    released.set()
    assert caught.value.id == "dns.silent"


def test_a_host_name_resolves_to_its_addresses() -> None:
    diagnosis, addresses = dns.check(
        Route(BaseUrl("http", "localhost", 80, "/v1")), timeout=5
    )
    assert diagnosis.id == "dns.ok"
    assert diagnosis.figure.endswith("ms")
    assert set(addresses) <= {"127.0.0.1", "::1"}


def test_an_unreachable_address_beside_a_reachable_one_is_a_warning() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        route = Route(BaseUrl("http", "echo.example", port, "/v1"))
        [diagnosis], best = tcp.check(route, ["127.0.0.1", "127.0.0.2"], timeout=5)
    assert (diagnosis.id, diagnosis.verdict) == ("tcp.partly", Verdict.WARN)
    assert "127.0.0.2 (connection refused)" in diagnosis.sentence
    assert best.addresses == ("127.0.0.1",)


def test_a_dead_address_beside_a_reachable_one_costs_a_moment() -> None:
    with (
        broken_servers.black_hole() as port,
        socket.create_server(("127.0.0.2", port)),
    ):
        route = Route(BaseUrl("http", "echo.example", port, "/v1"))
        started = time.monotonic()
        [diagnosis], best = tcp.check(route, ["127.0.0.1", "127.0.0.2"], timeout=60)
        elapsed = time.monotonic() - started
    assert diagnosis.id == "tcp.partly"
    assert "127.0.0.1 (no response)" in diagnosis.sentence
    assert best.addresses == ("127.0.0.2",)
    assert elapsed < 30


def test_a_name_that_dns_cannot_express_does_not_exist() -> None:
    route = Route(BaseUrl("http", "x" * 64, 80, "/v1"))
    with pytest.raises(ProbeError) as caught:
        dns.check(route, timeout=5)
    assert caught.value.id == "dns.unknown_private"
