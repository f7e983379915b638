"""Machines as network namespaces, with cables that can be cut.

Every machine is connected to two networks: to `front`, where the balancer reaches the
replicas, and to `back`, where the database is. Their switches are in another namespace.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.namespaces import Namespaces

NETWORKS = {"front": "10.0.0", "back": "10.0.1"}

_SWITCHES = "switches"


class Network(Namespaces):
    """The machines of a fleet, their cables and switches."""

    def add_machine(self, name: str, number: int) -> None:
        """Add a machine with the addresses 10.0.0.`number` and 10.0.1.`number`."""
        self.add_namespace(name)
        for network, subnet in NETWORKS.items():
            cable = f"{name}-{network}"
            switches = self.namespace(_SWITCHES)
            self.ip(
                name,
                f"link add {network} type veth peer name {cable} netns {switches}",
                f"address add {subnet}.{number}/24 dev {network}",
                f"link set {network} up",
            )
            self.ip(_SWITCHES, f"link set {cable} master {network} up")

    @contextmanager
    def cut(self, machine: str, network: str) -> Iterator[None]:
        """Unplug a cable: packets are lost, but no connection is reset."""
        self.ip(_SWITCHES, f"link set {machine}-{network} down")
        try:
            yield
        finally:
            self.ip(_SWITCHES, f"link set {machine}-{network} up")

    def start(self) -> None:
        self.add_namespace(_SWITCHES)
        for network in NETWORKS:
            self.ip(_SWITCHES, f"link add {network} type bridge")
            self.ip(_SWITCHES, f"link set {network} up")


@contextmanager
def network() -> Iterator[Network]:
    """Create the switches; remove all namespaces at the end, even after a failure."""
    made = Network()
    try:
        made.start()
        yield made
    finally:
        made.remove()
