"""Machines as network namespaces, each with its own network stack.

The network of the machine that runs the tests does not change.
"""

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Namespaces:
    """The machines of a test run; the names of their namespaces are unique."""

    prefix: str = field(default_factory=lambda: f"rb-{secrets.token_hex(3)}")
    _namespaces: list[str] = field(default_factory=list)

    def command(self, machine: str, *command: str) -> list[str]:
        """Return a command line that runs a command on a machine."""
        return ["nsenter", f"--net={self._path(machine)}", *command]

    @contextmanager
    def on(self, machine: str) -> Iterator[None]:
        """Move this thread, and the threads that it starts, to a machine."""
        with open("/proc/thread-self/ns/net") as home, open(self._path(machine)) as it:
            _enter(it.fileno())
            try:
                yield
            finally:
                _enter(home.fileno())

    def add_namespace(self, machine: str) -> None:
        namespace = self.namespace(machine)
        self._namespaces.append(namespace)
        _run(["ip", "netns", "add", namespace])
        self.ip(machine, "link set lo up")

    def namespace(self, machine: str) -> str:
        return f"{self.prefix}-{machine}"

    def ip(self, machine: str, *commands: str) -> None:
        for command in commands:
            _run(["ip", "-netns", self.namespace(machine), *command.split()])

    def remove(self) -> None:
        """Remove the namespaces, and with them their virtual cables."""
        for namespace in self._namespaces:
            with suppress(subprocess.CalledProcessError):
                _run(["ip", "netns", "delete", namespace])

    def _path(self, machine: str) -> str:
        return f"/run/netns/{self.namespace(machine)}"


def why_not() -> str:
    """Return why this machine cannot have network namespaces; empty if it can."""
    if os.geteuid() != 0:
        return "needs root, to create network namespaces"
    for program in ("ip", "nsenter", "setpriv"):
        if not shutil.which(program):
            return f"needs the program {program}"
    trial = Namespaces()
    try:
        trial.add_namespace("trial")
        trial.ip("trial", "link add trial type bridge")
    except (OSError, subprocess.CalledProcessError) as error:
        return f"cannot create network namespaces: {error}"
    finally:
        trial.remove()
    return ""


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=10)


def _enter(namespace: int) -> None:
    # os.setns was added in Python 3.12.
    if _libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
