"""Sets up scenarios: unusual input, or something between the probe and the service.

Each function returns a context manager that yields the input for the probe. The
changes that a proxy makes to messages are in `corruptions`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.probe import broken_servers
from tests.probe.relay import Relay, RequestFilter, Response, ResponseFilter, relay
from tests.support.authority import Authority
from tests.support.server import Server

SHORT = 1.0
"""The timeout where nothing responds. Anything else has more time than it needs."""


@dataclass(frozen=True)
class Resources:
    """What scenarios are built from: a working Readback server, keys, certificates."""

    readback: Server
    revoked_key: str
    authority: Authority
    folder: Path


@dataclass(frozen=True)
class ProbeInput:
    """The input of the probe, and the environment variables it runs with."""

    base_url: str
    key: str
    timeout: float = 10.0
    cabinet: str | None = None
    chat: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


Arrange = Callable[[Resources], AbstractContextManager[ProbeInput]]


@dataclass(frozen=True)
class Scenario:
    description: str
    id: str
    arrange: Arrange


def entered_as(change: Callable[[str], str]) -> Arrange:
    """The user enters the address with this change."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        yield ProbeInput(
            change(resources.readback.base_url), resources.readback.api_key
        )

    return arrange


def with_key(change: Callable[[str], str]) -> Arrange:
    """The user enters the key with this change."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        yield ProbeInput(
            resources.readback.base_url, change(resources.readback.api_key)
        )

    return arrange


@contextmanager
def revoked_key(resources: Resources) -> Iterator[ProbeInput]:
    yield ProbeInput(resources.readback.base_url, resources.revoked_key)


def on_broken_server(behave: broken_servers.Behavior, scheme: str = "http") -> Arrange:
    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with broken_servers.socket_server(behave) as port:
            url = f"{scheme}://127.0.0.1:{port}/v1"
            timeout = SHORT if behave in broken_servers.SILENT else 10.0
            yield ProbeInput(url, resources.readback.api_key, timeout)

    return arrange


def through_relay(
    on_request: RequestFilter = lambda request: request,
    on_response: ResponseFilter = lambda response: response,
    host: str = "127.0.0.1",
    timeout: float = 10.0,
) -> Arrange:
    """A proxy between probe and service changes messages."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        upstream = resources.readback.base_url
        with relay(upstream, on_request, on_response, host=host) as server:
            url = f"http://{host_and_port(server)}/v1"
            yield ProbeInput(url, resources.readback.api_key, timeout)

    return arrange


def responding(status: int, body: bytes, **headers: str) -> Arrange:
    """Something else sends the same response to every request."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return through_relay(on_response=lambda _: Response(status, "OK", named, body))


def behind_tls(
    trusted: bool = True, scheme: str = "https", issuer: str = "", **certificate: object
) -> Arrange:
    """The service uses TLS with the given certificate."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        authority = resources.authority
        if issuer:
            authority = Authority(resources.folder / issuer, issuer)
        context = authority.serves(**certificate)
        with relay(resources.readback.base_url, tls=context) as server:
            url = f"{scheme}://localhost:{server.server_port}/v1"
            trust = {"SSL_CERT_FILE": str(authority.root)} if trusted else {}
            yield ProbeInput(url, resources.readback.api_key, 5.0, environment=trust)

    return arrange


def refused_by_proxy(scheme: str, status: int) -> Arrange:
    """The environment sets a forward proxy, which refuses every request."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        refusal = Response(status, "Refused", {"Connection": "close"}, b"no")
        with relay(
            resources.readback.base_url, on_response=lambda _: refusal
        ) as server:
            variable = f"{scheme}_proxy"
            proxy = {variable: f"http://{host_and_port(server)}", "no_proxy": ""}
            url = f"{scheme}://echo.internal:1/v1"
            yield ProbeInput(url, resources.readback.api_key, environment=proxy)

    return arrange


def host_and_port(server: Relay) -> str:
    host = server.server_address[0]
    return (
        f"[{host}]:{server.server_port}"
        if ":" in host
        else f"{host}:{server.server_port}"
    )


@contextmanager
def closed_port(resources: Resources) -> Iterator[ProbeInput]:
    url = f"http://127.0.0.1:{broken_servers.closed_port()}/v1"
    yield ProbeInput(url, resources.readback.api_key)


@contextmanager
def packets_dropped(resources: Resources) -> Iterator[ProbeInput]:
    with broken_servers.black_hole() as port:
        url = f"http://127.0.0.1:{port}/v1"
        yield ProbeInput(url, resources.readback.api_key, timeout=SHORT)


@contextmanager
def closed_proxy(resources: Resources) -> Iterator[ProbeInput]:
    proxy = {
        "http_proxy": f"http://127.0.0.1:{broken_servers.closed_port()}",
        "no_proxy": "",
    }
    key = resources.readback.api_key
    yield ProbeInput(resources.readback.base_url, key, environment=proxy)


def cabinet_showing(status: int = 200, **fields: str | None) -> Arrange:
    """The cabinet returns these fields instead of the tested address.

    The value "this" means the tested address.
    """

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        base_url = resources.readback.base_url
        shown = {k: base_url if v == "this" else v for k, v in fields.items()}
        body = json.dumps(shown).encode()
        response = Response(status, "OK", {"Content-Type": "application/json"}, body)
        with relay(base_url, on_response=lambda _: response) as cabinet:
            url = f"http://{host_and_port(cabinet)}"
            yield ProbeInput(base_url, resources.readback.api_key, cabinet=url)

    return arrange


@contextmanager
def at_cabinet(resources: Resources) -> Iterator[ProbeInput]:
    yield ProbeInput(resources.readback.cabinet_url, resources.readback.api_key)


@contextmanager
def at_ops_port(resources: Resources) -> Iterator[ProbeInput]:
    url = f"{resources.readback.ops_url}/v1"
    yield ProbeInput(url, resources.readback.api_key)
