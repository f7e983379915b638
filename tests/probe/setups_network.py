"""Sets up scenarios of the network: proxies of every kind, containers, settings."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

from readback.probe.connection import tcp
from tests.probe import broken_servers
from tests.probe.forward_proxy import LOGIN, forward_proxy
from tests.probe.setups import SHORT, Arrange, ProbeInput, Resources
from tests.probe.socks_proxy import socks_proxy

ENCRYPTED = "https://echo.example/v1"


def with_environment(environment: Mapping[str, str], base_url: str = "") -> Arrange:
    """The environment contains these variables."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        readback = resources.readback
        url = base_url or readback.base_url
        yield ProbeInput(url, readback.api_key, environment=environment)

    return arrange


def with_proxy(value: str) -> Arrange:
    """The environment sets a proxy to this value."""
    return with_environment({"http_proxy": value, "no_proxy": ""})


def behind_broken_proxy(
    behave: broken_servers.Behavior, scheme: str = "http", login: str = ""
) -> Arrange:
    """The environment sets a proxy that does this with every connection."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with broken_servers.socket_server(behave) as port:
            proxy = {"https_proxy": f"{scheme}://{login}127.0.0.1:{port}"}
            key = resources.readback.api_key
            timeout = SHORT if behave in broken_servers.SILENT else 10.0
            yield ProbeInput(ENCRYPTED, key, timeout, environment=proxy)

    return arrange


def responding(
    status: str, page: bytes = b"", **headers: str
) -> broken_servers.Behavior:
    """Respond to a request for a tunnel with this instead."""
    lines = [f"HTTP/1.1 {status}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    response = "\r\n".join([*lines, "", ""]).encode() + page

    def behave(client) -> None:
        client.recv(65536)
        client.sendall(response)
        client.close()

    return behave


def behind_socks(
    scheme: str = "socks5h",
    server_login: tuple[str, str] | None = None,
    login: str = "",
    reply: int = 0,
) -> Arrange:
    """The environment sets a SOCKS proxy that refuses the connection."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with socks_proxy(server_login, reply) as server:
            url = f"{scheme}://{login}127.0.0.1:{server.server_address[1]}"
            environment = {"all_proxy": url}
            key = resources.readback.api_key
            yield ProbeInput(ENCRYPTED, key, environment=environment)

    return arrange


def behind_forward_proxy(no_proxy: str = "", login: str = LOGIN) -> Arrange:
    """The environment sets a working proxy."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        with forward_proxy(login=login) as server:
            proxy = f"http://{login}@127.0.0.1:{server.server_port}"
            environment = {"http_proxy": proxy, "no_proxy": no_proxy}
            readback = resources.readback
            yield ProbeInput(
                readback.base_url, readback.api_key, environment=environment
            )

    return arrange


def in_container(mark: str = "", content: str = "", **environment: str) -> Arrange:
    """The root directory contains the mark of a container."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        root = resources.folder / f"root{mark.replace('/', '-')}"
        if mark:
            file = root / mark
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        url = f"http://127.0.0.1:{broken_servers.closed_port()}/v1"
        with patch.object(tcp, "ROOT", root):
            key = resources.readback.api_key
            yield ProbeInput(url, key, environment=environment)

    return arrange
