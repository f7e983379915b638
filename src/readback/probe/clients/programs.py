"""The programs that the probe knows, and the versions that its rules were tried with.

A rule about another program is written down only if that version was run here, on
Debian 12. Go 1.21.13 and Node 26.12.0 were run too and differ from these rules only in
unusual forms of NO_PROXY and of the proxy's address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from readback.probe.clients import other_proxies, python_proxies, stores
from readback.probe.clients.machine import Machine
from readback.probe.clients.proxy_choice import ProxyChoice
from readback.probe.clients.stores import StoreChoice
from readback.probe.entered.base_url import BaseUrl


class OtherProgram(NamedTuple):
    name: str
    versions: str
    """The versions tried."""
    proxy: Callable[[BaseUrl, Machine], ProxyChoice]
    store: Callable[[Machine], StoreChoice]
    always_loads_store: bool = False
    """Whether it reads the certificates even if the address does not use TLS."""

    @property
    def title(self) -> str:
        return f"{self.name} ({self.versions})"


REQUESTS = "requests"
OPENAI_2, OPENAI_3 = "openai 2", "openai 3"
PROGRAMS = (
    OtherProgram("curl", "7.88.1", other_proxies.curl_proxy, stores.curl_store),
    OtherProgram(
        REQUESTS, "2.34.2", python_proxies.requests_proxy, stores.requests_store
    ),
    OtherProgram(
        "httpx", "0.28.1", python_proxies.httpx_proxy, stores.httpx_store, True
    ),
    # These use httpx.
    OtherProgram(
        OPENAI_2,
        "1.109.1, 2.54.0",
        python_proxies.httpx_proxy,
        stores.httpx_store,
        True,
    ),
    # These use httpx2.
    OtherProgram(
        OPENAI_3,
        "3.3.0, 3.49.0",
        python_proxies.httpx2_proxy,
        stores.httpx2_store,
        True,
    ),
    OtherProgram("Go", "1.27.3", other_proxies.go_proxy, stores.go_store),
    OtherProgram(
        "Node 22",
        "20.20.2, 22.20.0",
        other_proxies.old_node_proxy,
        stores.old_node_store,
    ),
    OtherProgram("Node 24", "24.19.0", other_proxies.node_proxy, stores.node_store),
    OtherProgram(
        "Java", "17.0.20, HttpClient", other_proxies.java_proxy, stores.java_store
    ),
)


def programs(openai_version: str) -> list[OtherProgram]:
    """Return all programs, with only the installed one of the openai packages."""
    major = openai_version.partition(".")[0]
    absent = ""
    if major.isdecimal():
        absent = OPENAI_2 if int(major) >= 3 else OPENAI_3
    return [program for program in PROGRAMS if program.name != absent]
