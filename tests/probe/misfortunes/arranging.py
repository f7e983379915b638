"""Builds the rows of the collection, and sets up separate networks.

Entering a separate network affects the whole process, so only a process that runs
nothing else may ask for one. Without root, the misfortune is skipped.
"""

import ctypes
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readback.probe.connection import stores
from tests.probe import gateway as gateways
from tests.probe.gateway import Behavior, gateway, pass_on
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import (
    Arrange,
    Context,
    ProbeInput,
    Resources,
    Variables,
    serving,
    through,
)
from tests.support import name_server

OTHERS = "network operator"
OTHER_KEY = "sk-proj-" + "T3BlbkFJ" * 5
_INPUT = ("path", "key", "chat", "timeout")
_NEW_MOUNTS, _NEW_NETWORK = 0x00020000, 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def kind_of(kind: str, *rows: Misfortune) -> tuple[Misfortune, ...]:
    """Return these rows with their class set to `kind`."""
    return tuple(replace(row, kind=kind) for row in rows)


def row(name: str, behave: Behavior, *says: str, by: str = OTHERS, **more: Any):
    """Return a misfortune caused by a gateway in front of the service."""
    changes = {name: more.pop(name) for name in _INPUT if name in more}
    return Misfortune(name, through(behave, **changes), says, by, **more)


class OwnNetwork:
    """This process's network: loopback, its hosts file and its DNS server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ip(self, *commands: str) -> None:
        for command in commands:
            arguments = ["ip", *command.split()]
            subprocess.run(arguments, check=True, capture_output=True, timeout=10)

    def has_file(self, path: str, text: str) -> None:
        """Replace the content of a system file, but only for this process."""
        own = self._folder / path.replace("/", "-")
        if not os.path.exists(path):
            pytest.skip(f"needs the file {path}")
        own.write_text(text)
        _mount(["--bind", str(own), path])

    def resolves(self, respond: Callable[[bytes], bytes | None]) -> None:
        """Run a DNS server that answers each question in its own thread."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 53))

        def answer(question: bytes, client: Any) -> None:
            if (answered := respond(question)) is not None:
                sock.sendto(answered, client)

        def serve() -> None:
            while True:
                question, client = sock.recvfrom(512)
                threading.Thread(
                    target=answer, args=(question, client), daemon=True
                ).start()

        threading.Thread(target=serve, daemon=True).start()


def own_network(folder: Path) -> OwnNetwork:
    """Move this process to its own network, for good."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        pytest.skip("needs a process of its own, as `make misfortunes` starts")
    for program in ("ip", "mount"):
        if not shutil.which(program):
            pytest.skip(f"needs the program {program}")
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    if _libc.unshare(_NEW_MOUNTS | _NEW_NETWORK) != 0:
        pytest.skip("needs root, to create a network of its own")
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @contextmanager
    def at_home() -> Iterator[None]:
        _libc.setns(home, _NEW_NETWORK)
        try:
            yield
        finally:
            _libc.setns(own, _NEW_NETWORK)

    gateways.at_home = at_home
    _mount(["--make-rprivate", "/"])
    network = OwnNetwork(folder)
    network.ip("link set lo up")
    network.has_file("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:2\n")
    network.has_file("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
    return network


def in_own_network(
    prepare: Callable[[OwnNetwork], object],
    host: str = "127.0.0.1",
    behave: Behavior = pass_on,
    listen: str = "127.0.0.1",
    certificate: Context | None = None,
    store: Variables | None = None,
    **changes: Any,
) -> Arrange:
    """Serve on the loopback interface of a separate network that `prepare` sets up.

    If `host` is a name other than localhost, the service uses TLS with `certificate`,
    or else with one that every store trusts. `store` may set environment variables.
    """

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        network = own_network(resources.folder)
        prepare(network)
        is_name = host[-1].isalpha() and host != "localhost"
        tls = [(certificate or serving(host=host))(resources)] if is_name else []
        if is_name:
            _trust_everywhere(network, resources.authority.root.read_text())
        environment = store(resources) if store else {}
        upstream = resources.readback.base_url
        with gateway(upstream, behave, address=(listen, 8000), tls=tls):
            url = f"{'https' if is_name else 'http'}://{host}:8000/v1"
            key = resources.readback.api_key
            made = ProbeInput(url, key, 5.0, environment=environment)
            yield replace(made, **changes)

    return arrange


def _trust_everywhere(network: OwnNetwork, root: str) -> None:
    """Make every store trust the authority as if it were a public one."""
    paths = ssl.get_default_verify_paths()
    network.has_file(os.path.realpath(paths.openssl_cafile), root)
    stores.certifi.contents = lambda: root


def names(table: Mapping[str, list[str]]) -> Callable[[bytes], bytes]:
    """Answer DNS questions from a table; other names do not exist."""
    return lambda question: name_server.respond(question, table.get)


def failing(code: int) -> Callable[[bytes], bytes]:
    """Answer every DNS question with this error code (RFC 1035 §4.1.1)."""
    return lambda question: (
        question[:2]
        + bytes([0x81, 0x80 | code])
        + question[4:6]
        + bytes(6)
        + question[12:]
    )


def _mount(arguments: list[str]) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True, timeout=10)
