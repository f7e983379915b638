"""A network path with a link that takes smaller packets than the rest.

    client -- 1500 -- near -- 1400 -- far -- 1500 -- server

Each is a network namespace. The routers may not send ICMP messages, so neither side
ever learns that its packets are too large.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.namespaces import Namespaces

SMALL_MTU = 1400
SERVER = "10.0.3.2"

_LINKS = (("client", "near", 1), ("near", "far", 2), ("far", "server", 3))
_COMMANDS = (
    ("near", f"link set to-far mtu {SMALL_MTU}"),
    ("far", f"link set to-near mtu {SMALL_MTU}"),
    ("client", "route add 10.0.3.0/24 via 10.0.1.2"),
    ("near", "route add 10.0.3.0/24 via 10.0.2.2"),
    ("far", "route add 10.0.1.0/24 via 10.0.2.1"),
    ("server", "route add 10.0.1.0/24 via 10.0.3.1"),
    ("near", "rule add pref 0 ipproto icmp blackhole"),
    ("far", "rule add pref 0 ipproto icmp blackhole"),
)


@contextmanager
def small_link() -> Iterator[Namespaces]:
    """Yield the network; it has the machines `client` and `server`."""
    network = Namespaces()
    try:
        for name in ("client", "near", "far", "server"):
            network.add_namespace(name)
        for each, other, number in _LINKS:
            _connect(network, each, other, number)
        for name, command in _COMMANDS:
            network.ip(name, command)
        for name in ("near", "far"):
            with network.on(name), open("/proc/sys/net/ipv4/ip_forward", "w") as file:
                file.write("1")
        yield network
    finally:
        network.remove()


def _connect(network: Namespaces, one: str, other: str, number: int) -> None:
    peer = f"type veth peer name to-{one} netns {network.namespace(other)}"
    network.ip(one, f"link add to-{other} {peer}")
    for place, (here, there) in enumerate(((one, other), (other, one)), start=1):
        network.ip(
            here,
            f"address add 10.0.{number}.{place}/24 dev to-{there}",
            f"link set to-{there} up",
        )
