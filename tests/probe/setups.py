"""Sets up connections: the user's input, the service, and proxies in between.

An `Arrange` returns a context manager that yields the probe's input.
"""

import ssl
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.probe import broken_servers
from tests.probe.gateway import Behavior, gateway, pass_on, proxying
from tests.support.authority import Authority
from tests.support.server import Server

SERVICE = "echo.internal"
"""The service's name behind a proxy; the probe would warn about a loopback address."""


@dataclass(frozen=True)
class Resources:
    """Resources that setups share: a working Readback server, keys and certificates."""

    readback: Server
    revoked_key: str
    authority: Authority
    folder: Path


@dataclass(frozen=True)
class ProbeInput:
    """The probe's input, and the environment variables it runs with."""

    base_url: str
    key: str
    timeout: float = 10.0
    chat: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


Arrange = Callable[[Resources], AbstractContextManager[ProbeInput]]
Context = Callable[[Resources], ssl.SSLContext]
Variables = Callable[[Resources], Mapping[str, str]]


def working(make: Callable[[Resources], ProbeInput]) -> Arrange:
    """Start nothing besides the service itself."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        yield make(resources)

    return arrange


def entered_as(change: Callable[[str], str], **changes: Any) -> Arrange:
    """Apply this change to the address that the user enters."""
    return working(
        lambda resources: replace(
            ProbeInput(change(resources.readback.base_url), resources.readback.api_key),
            **changes,
        )
    )


def elsewhere(url: str, **changes: Any) -> Arrange:
    """Let the user enter this address, where nothing may be listening."""
    return entered_as(lambda _: url, **{"timeout": 3.0, **changes})


def with_key(change: Callable[[str], str]) -> Arrange:
    """Apply this change to the key that the user enters."""
    return working(
        lambda resources: ProbeInput(
            resources.readback.base_url, change(resources.readback.api_key)
        )
    )


def with_variables(variables: Variables) -> Arrange:
    """Use the working service, with these variables set."""
    return working(
        lambda resources: ProbeInput(
            resources.readback.base_url,
            resources.readback.api_key,
            environment=variables(resources),
        )
    )


def through(behave: Behavior = pass_on, path: str = "/v1", **changes: Any) -> Arrange:
    """Put a gateway with this behaviour in front of the service."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with gateway(resources.readback.base_url, behave) as server:
            url = f"http://127.0.0.1:{server.port}{path}"
            yield replace(ProbeInput(url, resources.readback.api_key), **changes)

    return arrange


def on_socket(
    behave: broken_servers.Behavior, scheme: str = "http", timeout: float = 3.0
) -> Arrange:
    """Put a server that does not speak HTTP, or speaks it wrongly, at the address."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with broken_servers.socket_server(behave) as port:
            url = f"{scheme}://127.0.0.1:{port}/v1"
            yield ProbeInput(url, resources.readback.api_key, timeout)

    return arrange


def over_tls(
    *contexts: Context,
    behave: Behavior = pass_on,
    scheme: str = "https",
    host: str = "localhost",
    store: Variables | None = None,
    **changes: Any,
) -> Arrange:
    """Put a TLS gateway that rotates through these contexts in front of the service.

    The tests' authority is trusted unless `store` sets other variables.
    """

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        made = [context(resources) for context in contexts]
        with gateway(resources.readback.base_url, behave, tls=made) as server:
            url = f"{scheme}://{host}:{server.port}/v1"
            trust = {"SSL_CERT_FILE": str(resources.authority.root)}
            environment = store(resources) if store else trust
            key = resources.readback.api_key
            yield replace(ProbeInput(url, key, 5.0, environment=environment), **changes)

    return arrange


def serving(**certificate: Any) -> Context:
    """Let the tests' authority issue this certificate."""
    return lambda resources: resources.authority.serves(**certificate)


def issued_by(name: str, **certificate: Any) -> Context:
    """Let another authority issue this certificate."""
    return lambda resources: Authority(resources.folder / "other", name).serves(
        **certificate
    )


def below(name: str, **certificate: Any) -> Context:
    """Let an intermediate authority with this name issue this certificate."""
    return lambda resources: Authority(
        resources.folder / "middle", name, parent=resources.authority
    ).serves(**certificate)


def with_settings(
    change: Callable[[ssl.SSLContext], None], **certificate: Any
) -> Context:
    """Change the server's TLS settings."""

    def make(resources: Resources) -> ssl.SSLContext:
        context = resources.authority.serves(**certificate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            change(context)
        return context

    return make


def untrusted(resources: Resources) -> Mapping[str, str]:
    """Set no variables, so that the tests' authority is not trusted."""
    return {}


def other_in(variable: str) -> Variables:
    """Set this variable to the path of the root certificate from `issued_by`."""
    return lambda resources: {variable: str(resources.folder / "other" / "root.pem")}


def proxied(
    behave: Behavior | None = None,
    *,
    encrypted: bool = False,
    service: str = SERVICE,
    certificate: Context | None = None,
    store: Variables | None = None,
    decrypted: Behavior = pass_on,
    login: str = "",
    variables: Mapping[str, str] | None = None,
    scheme: str = "http",
    **changes: Any,
) -> Arrange:
    """Set a proxy in the environment: one with this behaviour, or else a working one.

    Apply `decrypted` to the requests inside the tunnel, as a decrypting proxy would.
    """

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        upstream = resources.readback.base_url
        shown = certificate or serving(host=service)
        tls = [shown(resources)] if encrypted else []
        with (
            gateway(upstream, decrypted, tls=tls) as origin,
            gateway(upstream, behave or proxying(origin.port)) as proxy,
        ):
            name = "https_proxy" if encrypted else "http_proxy"
            url = f"http{'s' * encrypted}://{service}:{origin.port}/v1"
            address = f"{scheme}://{login}127.0.0.1:{proxy.port}"
            environment = {name: address, "no_proxy": "", **(variables or {})}
            if encrypted:
                trust = {"SSL_CERT_FILE": str(resources.authority.root)}
                environment |= store(resources) if store else trust
            key = resources.readback.api_key
            made = ProbeInput(url, key, 5.0, environment=environment)
            yield replace(made, **changes)

    return arrange
