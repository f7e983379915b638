"""Machines as network namespaces, with cables that can be cut.

Every machine has a cable to two networks: `front`, where the balancer reaches the
replicas, and `back`, where the database is. A namespace of their own contains the two
switches, so nothing appears in the network of the machine that runs the tests.
"""

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

NETWORKS = {"front": "10.0.0", "back": "10.0.1"}

_SWITCHES = "switches"
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Network:
    """All machines of one test run; the names of their namespaces are unique."""

    prefix: str = field(default_factory=lambda: f"rb-{secrets.token_hex(3)}")
    _namespaces: list[str] = field(default_factory=list)

    def add_machine(self, name: str, number: int) -> None:
        """Add a machine with the addresses 10.0.0.`number` and 10.0.1.`number`."""
        self._add_namespace(name)
        for network, subnet in NETWORKS.items():
            cable, switches = f"{name}-{network}", self._namespace(_SWITCHES)
            self._ip(
                name,
                f"link add {network} type veth peer name {cable} netns {switches}",
                f"address add {subnet}.{number}/24 dev {network}",
                f"link set {network} up",
            )
            self._ip(_SWITCHES, f"link set {cable} master {network} up")

    @contextmanager
    def cut(self, machine: str, network: str) -> Iterator[None]:
        """Unplug a cable: packets get lost, and no connection is reset."""
        self._ip(_SWITCHES, f"link set {machine}-{network} down")
        try:
            yield
        finally:
            self._ip(_SWITCHES, f"link set {machine}-{network} up")

    def command(self, machine: str, *command: str) -> list[str]:
        """Return a command line that runs a command on a machine."""
        return ["nsenter", f"--net={self._path(machine)}", *command]

    @contextmanager
    def on(self, machine: str) -> Iterator[None]:
        """Move this thread, and threads that it starts, to a machine."""
        with open("/proc/thread-self/ns/net") as home, open(self._path(machine)) as it:
            _enter(it.fileno())
            try:
                yield
            finally:
                _enter(home.fileno())

    def start(self) -> None:
        self._add_namespace(_SWITCHES)
        for network in NETWORKS:
            self._ip(_SWITCHES, f"link add {network} type bridge")
            self._ip(_SWITCHES, f"link set {network} up")

    def remove(self) -> None:
        """Remove the namespaces, and with them every cable."""
        for namespace in self._namespaces:
            with suppress(subprocess.CalledProcessError):
                _run(["ip", "netns", "delete", namespace])

    def _add_namespace(self, machine: str) -> None:
        namespace = self._namespace(machine)
        self._namespaces.append(namespace)
        _run(["ip", "netns", "add", namespace])
        self._ip(machine, "link set lo up")

    def _namespace(self, machine: str) -> str:
        return f"{self.prefix}-{machine}"

    def _path(self, machine: str) -> str:
        return f"/run/netns/{self._namespace(machine)}"

    def _ip(self, machine: str, *commands: str) -> None:
        for command in commands:
            _run(["ip", "-netns", self._namespace(machine), *command.split()])


@contextmanager
def network() -> Iterator[Network]:
    """Remove the namespaces at the end, also after a failure."""
    made = Network()
    try:
        made.start()
        yield made
    finally:
        made.remove()


def why_not() -> str:
    """Return why this machine cannot have network namespaces; empty if it can."""
    if os.geteuid() != 0:
        return "needs root, to create network namespaces"
    for program in ("ip", "nsenter", "setpriv"):
        if not shutil.which(program):
            return f"needs the program {program}"
    try:
        with network():
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"cannot create network namespaces: {error}"


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=10)


def _enter(namespace: int) -> None:
    # os.setns exists only since Python 3.12.
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
