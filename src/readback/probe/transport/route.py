"""The route to an address: the machine to connect to, directly or through a proxy."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field

from readback.probe.common.catalogue import say
from readback.probe.common.results import Fact
from readback.probe.entered.base_url import BaseUrl


@dataclass(frozen=True)
class Proxy:
    """A proxy and the environment variable that sets it."""

    scheme: str
    host: str
    port: int
    variable: str
    login: tuple[str, str] | None = field(default=None, repr=False)
    """The user name and the password: only for the proxy itself."""
    trusted: ssl.SSLContext | None = field(default=None, repr=False)
    """The certificates to verify a proxy with that is itself reached over TLS."""

    def __str__(self) -> str:
        """The proxy without its login, safe to show."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    def facts(self, target: BaseUrl) -> dict[str, Fact]:
        """What a diagnosis says about the proxy and where it should connect to."""
        return {"host": target.host, "proxy": str(self), "variable": self.variable}

    @property
    def authorization(self) -> dict[str, str]:
        """The header that logs in to an HTTP proxy, if it needs one."""
        if self.login is None:
            return {}
        login = ":".join(self.login).encode("utf-8", "surrogateescape")
        return {"Proxy-Authorization": f"Basic {base64.b64encode(login).decode()}"}


@dataclass(frozen=True)
class Route:
    target: BaseUrl
    proxy: Proxy | None = None
    addresses: tuple[str, ...] = ()
    """The IP addresses of the first machine, the best one first, once known."""
    unused_proxy: str = ""
    """A proxy of the desktop's settings, which Python programs do not use."""

    @property
    def host(self) -> str:
        """The machine to connect to first: the proxy or the service itself."""
        return self.proxy.host if self.proxy else self.target.host

    @property
    def port(self) -> int:
        return self.proxy.port if self.proxy else self.target.port

    @property
    def key_destination(self) -> str:
        """Who can read a key that is sent on this route, safe to show."""
        origin = self.target.origin
        if not self.forwarder:
            return origin
        return say(
            "{origin} through the proxy {proxy}", origin=origin, proxy=self.proxy
        )

    @property
    def forwarder(self) -> Proxy | None:
        """The proxy that forwards single requests, which then name the target."""
        return None if self.uses_tunnel else self.proxy

    @property
    def uses_tunnel(self) -> bool:
        """Whether the proxy has to pass the connection on, not single requests."""
        if self.proxy is None:
            return False
        return self.proxy.is_socks or self.target.is_encrypted
