"""The step "proxies": whether the environment sends the requests another way.

The environment is read once, here, and the HTTP client is told what was found, so
that the report and the requests cannot differ.
"""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from readback.probe.address import PORTS, Address, split
from readback.probe.diagnoses import found
from readback.probe.findings import Finding, Trouble
from readback.probe.wording import foreign


@dataclass(frozen=True, slots=True)
class Route:
    """Which host is dialled: the service's own, or a proxy's."""

    host: str
    port: int
    proxy_url: str | None = field(default=None, repr=False)
    """With its password, if it has one: for the client alone."""
    variable: str = ""

    @property
    def proxy(self) -> str:
        """The proxy as it may be shown."""
        return f"{self.host}:{self.port}"

    @property
    def login(self) -> str | None:
        """User name and password for the proxy, as `user:password`."""
        parts = urlsplit(self.proxy_url or "")
        if parts.username is None:
            return None
        return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def check(address: Address) -> tuple[Finding, Route]:
    direct = Route(address.host, address.port)
    configured = getproxies()
    scheme = address.scheme if address.scheme in configured else "all"
    url = configured.get(scheme)
    if not url:
        return found("proxies.none"), direct
    variable = f"{scheme.upper()}_PROXY"
    if proxy_bypass(f"{address.host}:{address.port}"):
        return found("proxies.bypassed", variable=variable), direct
    return _through(url if "://" in url else f"http://{url}", variable, address)


def _through(url: str, variable: str, address: Address) -> tuple[Finding, Route]:
    try:
        parts = split(url)
    except Trouble:
        raise _unusable(url, variable, address) from None
    port = parts.port or PORTS[parts.scheme]
    route = Route(parts.hostname or "", port, url, variable)
    return found("proxies.used", proxy=route.proxy, variable=variable), route


def _unusable(url: str, variable: str, address: Address) -> Trouble:
    # What stands before an @ may be a password.
    scheme, _, rest = url.partition("://")
    shown = foreign(f"{scheme}://{rest.rpartition('@')[2]}")
    return Trouble(
        "proxies.unusable", variable=variable, proxy=shown, host=address.host
    )
