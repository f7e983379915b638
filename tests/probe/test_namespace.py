"""Cases that need a separate network: dead addresses, broken IPv6, unusual DNS."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.probe.namespace import Namespace, missing, namespace
from tests.probe.setups import Resources
from tests.support.name_server import table

SERVICE = "203.0.113.10"
LOST = "203.0.113.11"
NAMES = {
    "broken-v6.example": [SERVICE, "2001:db8::10", "2001:db8::11"],
    "one-dead.example": [SERVICE, LOST],
    "both.example": [SERVICE, LOST, "2001:db8::10"],
    "dead.example": [LOST, "203.0.113.12"],
    "no-v6-route.example": ["3fff::1"],
    "fake.example": ["198.18.0.1"],
    "lost-fake.example": ["198.18.0.2"],
    "private.example": ["10.1.0.1"],
    "lost-private.example": ["10.1.0.2"],
    "unrouted-private.example": ["192.168.9.9"],
    "blocked.example": ["0.0.0.0"],
    "this-machine.example": ["127.0.0.1"],
    "prohibited.example": ["203.0.113.20"],
    "rejected.example": ["203.0.113.21"],
    "unrouted.example": ["192.0.2.1"],
    "swallowed.example": ["203.0.113.22"],
}
DIAGNOSES = {
    "one-dead.example": "tcp.partly",
    "dead.example": "tcp.blocked",
    "no-v6-route.example": "tcp.no_family",
    "fake.example": "dns.ok",
    "lost-fake.example": "tcp.fake_ip",
    "private.example": "dns.ok",
    "lost-private.example": "tcp.blocked",
    "unrouted-private.example": "tcp.no_route",
    "blocked.example": "dns.blocked",
    "this-machine.example": "dns.blocked",
    "prohibited.example": "tcp.forbidden",
    "rejected.example": "tcp.blocked",
    "unrouted.example": "tcp.no_route",
    "swallowed.example": "tcp.no_route",
    "missing.example": "dns.unknown",
    "missing.corp": "dns.unknown",
    "missing": "dns.unknown",
    "missing.local": "dns.unknown",
}
ALL_STEPS = (
    *("address", "key", "proxies", "dns", "tcp", "tls", "http", "access", "models"),
    "echo",
)


@pytest.fixture(scope="module")
def network() -> Iterator[Namespace]:
    if reason := missing():
        pytest.skip(reason)
    with namespace() as it:
        it.ip(
            "link set lo up",
            # Packets enter a virtual cable, and nothing at its other end accepts them.
            "link add lost type veth peer name nowhere",
            "link set nowhere up",
            "link set lost arp off up",
            f"address add {SERVICE}/32 dev lo",
            "address add 198.18.0.1/32 dev lo",
            "address add 10.1.0.1/32 dev lo",
            "address add 203.0.113.1/24 dev lost",
            "address add 2001:db8::1/64 dev lost nodad",
            "route add 198.18.0.2/32 dev lost",
            "route add 10.1.0.2/32 dev lost",
            "route add prohibit 203.0.113.20/32",
            "route add unreachable 203.0.113.21/32",
            "route add blackhole 203.0.113.22/32",
        )
        with it.resolving(table(NAMES)):
            yield it


@pytest.fixture(scope="module")
def port(network: Namespace, readback) -> Iterator[int]:
    """Serve Readback at the addresses that should respond; yield their common port."""
    with ExitStack() as stack:
        port = stack.enter_context(network.gateway(readback.base_url, SERVICE))
        for host in ("198.18.0.1", "10.1.0.1"):
            stack.enter_context(network.gateway(readback.base_url, host, port))
        yield port


def test_every_name_gets_its_diagnosis(
    network: Namespace, port: int, resources: Resources
) -> None:
    urls = [f"http://{name}:{port}/v1" for name in DIAGNOSES]
    found = network.probe(urls, resources.readback.api_key)
    wrong = {
        name: diagnosis
        for (name, finding), diagnosis in zip(DIAGNOSES.items(), found, strict=True)
        if finding not in diagnosis.sentences
    }
    assert not wrong


def test_broken_ipv6_is_not_the_fault_of_the_service_and_costs_a_moment(
    network: Namespace, port: int, resources: Resources
) -> None:
    key = resources.readback.api_key
    url = f"http://broken-v6.example:{port}/v1"
    [broken] = network.probe([url], key, ALL_STEPS, timeout=30)
    assert "tcp.v6_broken" in broken.sentences
    assert "tcp.partly" not in broken.sentences
    assert "echo.same" in broken.sentences
    # The probe waits two seconds for the dead addresses, not the timeout of thirty.
    assert broken.seconds < 30


def test_broken_ipv6_and_a_dead_address_of_the_service_are_told_apart(
    network: Namespace, port: int, resources: Resources
) -> None:
    url = f"http://both.example:{port}/v1"
    [found] = network.probe([url], resources.readback.api_key)
    assert LOST in found.sentences["tcp.partly"]
    assert LOST not in found.sentences["tcp.v6_broken"]
    assert "2001:db8::10" in found.sentences["tcp.v6_broken"]
