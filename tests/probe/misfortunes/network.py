"""Problems before the first byte of HTTP: with names, TCP and this machine."""

import gc
import os
import re
import resource
import socket
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from unittest.mock import patch

from readback.probe.connection import tcp
from tests.probe import broken_servers
from tests.probe.misfortunes.arranging import (
    OwnNetwork,
    failing,
    in_own_network,
    kind_of,
    names,
)
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import (
    ProbeInput,
    Resources,
    entered_as,
    issued_by,
    on_socket,
    other_in,
    serving,
)
from tests.support.commands import free_port

HOST = "echo.example"
# The probe takes these for public addresses; they exist only in the separate network.
HERE, DEAD, DEAD_TOO = "45.45.45.7", "45.45.45.8", "45.45.45.9"
_HERE = {HOST: [HERE]}


def _resolving(respond):
    return lambda network: network.resolves(respond)


def _late(seconds: float, respond):
    def answer(question: bytes):
        time.sleep(seconds)
        return respond(question)

    return answer


def _in_turn(*answers):
    """Answer successive lookups in turn; each lookup asks for IPv4 and for IPv6."""
    lookups = defaultdict(count)

    def respond(question: bytes) -> bytes | None:
        return answers[next(lookups[question[2:]]) % len(answers)](question)

    return respond


def _hosts(text: str):
    return lambda network: network.has_file(
        "/etc/hosts", f"127.0.0.1 localhost\n{text}\n"
    )


def _named(name, prepare, *says, by="you network operator", host=HOST, **more):
    options = ("timeout", "listen", "certificate", "store")
    extra = {k: more.pop(k) for k in options if k in more}

    def with_addresses(network: OwnNetwork) -> None:
        for address in (HERE, DEAD, DEAD_TOO):
            network.ip(f"address add {address}/32 dev lo")
        prepare(network)

    options = {"listen": "127.0.0.1" if host == "localhost" else HERE, **extra}
    arrange = in_own_network(with_addresses, host, **options)
    return Misfortune(name, arrange, says, by, **more)


def _certified(name, *says, by, host, **more):
    """Make `host` resolve to a server with the given certificate."""
    prepare = _resolving(names({host: [HERE]}))
    return _named(name, prepare, *says, by=by, host=host, blame="store", **more)


_PLACEHOLDERS = tuple(
    _named(
        f"the name {host} was not replaced",
        _resolving(failing(3)),
        "placeholder",
        by="you",
        host=host,
        id="dns.unknown",
    )
    for host in ("your-domain.example.org", "api.example.com")
)
_CERTIFIED = (
    *(
        _certified(
            f"a wildcard certificate for {covered}, and the host is {host}",
            f"tell the operator that the certificate does not cover {re.escape(host)}",
            by="operator you",
            host=host,
            certificate=serving(host=covered),
            id="tls.wrong_name",
        )
        for covered, host in (
            ("*.acme.example", "a.b.acme.example"),
            ("*.acme.example", "acme.example"),
            ("*.acme.co.uk", "a.b.acme.co.uk"),
        )
    ),
    *(
        _certified(
            f"a wildcard certificate of a stranger, and the host is {host}",
            re.escape(covered),
            by="you",
            host=host,
            certificate=serving(host=covered),
            id="tls.wrong_name",
        )
        for covered, host in (
            ("*.parking.example", "api.acme.example"),
            ("*.other.co.uk", "api.acme.co.uk"),
        )
    ),
    *(
        _certified(
            f"SSL_CERT_FILE has the authority of {who}",
            "REQUESTS_CA_BUNDLE",
            by="you",
            host="echo.example",
            certificate=issued_by(who, host="echo.example"),
            store=other_in("SSL_CERT_FILE"),
            id="tls.only_system",
        )
        for who in ("mkcert alice@laptop", "Alice's Own Root")
    ),
    _certified(
        "the authority of mkcert is nowhere",
        "mkcert -CAROOT",
        by="you",
        host="echo.example",
        certificate=issued_by("mkcert alice@laptop", host="echo.example"),
        id="tls.own_authority",
    ),
)
_NAMES = (
    _named(
        "the name does not exist", _resolving(names({})), HOST, "not exist", by="you"
    ),
    _named(
        "the name has no address",
        _resolving(names({HOST: []})),
        "no IP address",
        "add an A or AAAA record",
        by="operator",
        id="dns.no_address",
    ),
    *(
        _named(
            f"a name without an address that {what}",
            _resolving(names({host: []})),
            host,
            host=host,
            by="you",
            id="dns.unknown",
        )
        for what, host in (
            ("differs from a well-known API by a letter", "api.openai.cm"),
            ("exists only in a private network", "echo.corp"),
        )
    ),
    _named(
        "the DNS server answers SERVFAIL",
        _resolving(failing(2)),
        "DNS|lookup",
        by="you network",
        never=("letter by letter",),
    ),
    _named(
        "the DNS server does not answer",
        _resolving(lambda question: None),
        "DNS",
        "respond|answer|time",
        by="you network",
        timeout=3.0,
    ),
    _named(
        "there is no DNS server",
        lambda network: None,
        "DNS|lookup",
        by="you network",
        timeout=3.0,
    ),
    _named(
        "DNS takes two seconds",
        _resolving(_late(2.0, names(_HERE))),
        "DNS",
        "slow|took|s to|respond",
        by="you network",
    ),
    _named(
        "a DNS server does not know the name every other time",
        _resolving(_in_turn(names({}), names(_HERE))),
        r"of \d+ DNS lookups",
        by="network",
        id="sometimes.dns",
    ),
    _named(
        "the name is in the hosts file with another machine",
        _hosts(f"127.0.0.9 {HOST}"),
        r"127\.0\.0\.9|this machine",
        "hosts",
        by="you network",
    ),
    _named(
        "a filter answers 0.0.0.0",
        _resolving(names({HOST: ["0.0.0.0"]})),
        "block",
        listen="127.0.0.5",
        by="you network",
    ),
    _named(
        "a name with an underscore",
        _resolving(names({"my_echo.example": [HERE]})),
        by="",
        host="my_echo.example",
    ),
    _named(
        "localhost is misspelt as loclahost",
        _resolving(names({})),
        "localhost",
        host="loclahost",
        by="you",
    ),
    _named(
        "host.docker.internal outside Docker",
        _resolving(names({})),
        "Docker|container",
        host="host.docker.internal",
        by="you network",
    ),
)


def _no_free_port(network: OwnNetwork) -> None:
    """Leave only two local ports, and occupy both."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as file:
        file.write("40000 40001")
    for _ in range(2):
        listener = socket.create_server(("127.0.0.1", 0))
        _KEPT.append(listener)


_KEPT: list[object] = []


@contextmanager
def _few_files(resources: Resources) -> Iterator[ProbeInput]:
    """Allow this program only one more open file."""
    gc.collect()  # Close leftover sockets now: later, that would free descriptors.
    lowest = os.dup(0)  # All lower file descriptors are in use.
    os.close(lowest)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, before[1]))
    yield ProbeInput(resources.readback.base_url, resources.readback.api_key)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _greeting(text: bytes):
    def behave(client: socket.socket) -> None:
        client.sendall(text)
        client.recv(65536)
        client.close()

    return behave


def _answering(text: bytes):
    def behave(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(text)
        client.close()

    return behave


def _row(name, arrange, *says, by="you network operator", **more):
    return Misfortune(name, arrange, says, by, **more)


@contextmanager
def _in_container(resources: Resources) -> Iterator[ProbeInput]:
    """Make the probe find the file that marks a Docker container."""
    root = resources.folder / "container"
    root.mkdir(exist_ok=True)
    (root / ".dockerenv").touch()
    with patch.object(tcp, "ROOT", root), _CLOSED(resources) as probe_input:
        yield probe_input


@contextmanager
def _packets_dropped(resources: Resources) -> Iterator[ProbeInput]:
    with broken_servers.black_hole() as port:
        url = f"http://127.0.0.1:{port}/v1"
        yield ProbeInput(url, resources.readback.api_key, timeout=1.0)


_CLOSED = entered_as(lambda _: f"http://127.0.0.1:{free_port()}/v1")
_TCP = (
    _row(
        "nothing listens on the port",
        _CLOSED,
        "refused",
        "check that the service is running",
        by="operator",
        id="tcp.refused",
    ),
    _row(
        "localhost is used inside a Docker container",
        _in_container,
        "a container or a pod",
        by="you operator",
    ),
    _row(
        "a firewall drops every packet",
        _packets_dropped,
        "firewall",
        by="network operator",
        id="tcp.blocked",
    ),
    _row(
        "the status line names another protocol",
        on_socket(_greeting(b"HTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")),
        "not with valid HTTP",
        by="operator",
        id="http.malformed",
    ),
    _row(
        "the port is that of SSH",
        on_socket(_greeting(b"SSH-2.0-OpenSSH_9.2\r\n")),
        "SSH|not speak HTTP|port",
        by="you",
        id="http.not_http",
    ),
    _row(
        "the port is that of a gRPC server",
        on_socket(_answering(b"\0\0\x12\x04\0\0\0\0\0" + b"\0" * 18)),
        "gRPC",
        by="operator",
        id="http.not_http",
    ),
    _row(
        "every connection is closed at once",
        on_socket(lambda client: client.close()),
        "closed|cut",
        id="http.cut",
    ),
    _row(
        "connections open, and nothing comes",
        on_socket(broken_servers.stay_silent, timeout=2.0),
        "no response|silent|hang",
        by="operator network",
        id="http.silent",
    ),
    _row(
        "this machine has no free port",
        in_own_network(_no_free_port, timeout=2.0),
        "port",
        by="you",
    ),
    _row(
        "this program may open no more files",
        _few_files,
        "files",
        by="you",
    ),
)

NETWORK = kind_of("names", *_NAMES, *_CERTIFIED, *_PLACEHOLDERS) + kind_of("tcp", *_TCP)
