"""DNS, TCP and the stores of certificates, where no misfortune stands for them."""

import socket
import ssl
import threading

import httpx
import pytest

from readback.probe import names, tcp, tls
from readback.probe.address import Address
from readback.probe.findings import Trouble, Verdict
from readback.probe.proxies import Route
from readback.probe.scene import Scene
from readback.probe.secret import Secret
from tests.probe.relay import relay
from tests.probe.situations import World

NOWHERE = Route("echo.invalid", 443)


@pytest.mark.parametrize(
    ("number", "id"),
    [(socket.EAI_NONAME, "dns.unknown"), (socket.EAI_AGAIN, "dns.failed")],
)
def test_an_unknown_name_differs_from_a_dns_server_that_is_away(
    number: int, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_, **__):
        raise socket.gaierror(number, "as the resolver says")

    # No question about a name may leave this machine.
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(Trouble) as caught:
        names.check(NOWHERE, timeout=5)
    assert caught.value.id == id


def test_a_dns_server_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait() and [])
    with pytest.raises(Trouble) as caught:
        names.check(NOWHERE, timeout=0.1)
    over.set()
    assert caught.value.id == "dns.silent"


def test_a_name_is_found_with_its_addresses() -> None:
    finding, addresses = names.check(Route("localhost", 80), timeout=5)
    assert finding.id == "dns.ok"
    assert finding.figure.endswith("ms")
    assert set(addresses) <= {"127.0.0.1", "::1"}


def test_an_address_that_is_dead_beside_one_that_lives_is_a_warning() -> None:
    with socket.create_server(("127.0.0.1", 0)) as alive:
        route = Route("echo.example", alive.getsockname()[1])
        finding = tcp.check(route, ["127.0.0.1", "127.0.0.2"], timeout=5)
    assert (finding.id, finding.verdict) == ("tcp.partly", Verdict.WARN)
    assert "127.0.0.2 (connection refused)" in finding.sentence


def test_a_certificate_that_only_this_machine_trusts_is_a_warning(world: World) -> None:
    trusting = ssl.create_default_context(cafile=world.authority.root)
    plain = httpx.create_ssl_context()
    with relay(world.readback.base_url, tls=world.authority.serves()) as server:
        scene = Scene("", Secret(""), timeout=5)
        scene.address = Address("https", "localhost", server.server_port, "/v1")
        scene.route = Route("localhost", server.server_port)
        finding, store = tls.check(scene, [plain, trusting])
        assert tls.check(scene, [trusting, plain])[0].id == "tls.ok"
    assert (finding.id, finding.verdict) == ("tls.only_system", Verdict.WARN)
    assert store is trusting
