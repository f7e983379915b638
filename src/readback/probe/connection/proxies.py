"""The step "proxies": whether the environment sets a proxy for the address.

The environment is read only here, and the HTTP client gets the result, so the report
always matches what the requests do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import PORTS, BaseUrl, split
from readback.probe.formatting import sanitize
from readback.probe.results import Diagnosis, ProbeError


@dataclass(frozen=True)
class Route:
    """The host to connect to: the service itself or a proxy."""

    host: str
    port: int
    proxy_url: str | None = field(default=None, repr=False)
    """With its password, if any: only for the HTTP client."""
    variable: str = ""

    @property
    def proxy(self) -> str:
        """The proxy without its login, safe to show."""
        return f"{self.host}:{self.port}"

    @property
    def login(self) -> str | None:
        """The login for the proxy as `user:password`."""
        parts = urlsplit(self.proxy_url or "")
        if parts.username is None:
            return None
        return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def check(base_url: BaseUrl) -> tuple[Diagnosis, Route]:
    direct = Route(base_url.host, base_url.port)
    configured = getproxies()
    scheme = base_url.scheme if base_url.scheme in configured else "all"
    url = configured.get(scheme)
    if not url:
        return diagnose("proxies.none"), direct
    variable = f"{scheme.upper()}_PROXY"
    if proxy_bypass(f"{base_url.host}:{base_url.port}"):
        return diagnose("proxies.bypassed", variable=variable), direct
    return _via_proxy(url if "://" in url else f"http://{url}", variable, base_url)


def _via_proxy(url: str, variable: str, base_url: BaseUrl) -> tuple[Diagnosis, Route]:
    try:
        parts = split(url)
    except ProbeError:
        raise _unusable(url, variable, base_url) from None
    port = parts.port or PORTS[parts.scheme]
    route = Route(parts.hostname or "", port, url, variable)
    return diagnose("proxies.used", proxy=route.proxy, variable=variable), route


def _unusable(url: str, variable: str, base_url: BaseUrl) -> ProbeError:
    # The part before the @ may contain a password.
    scheme, _, rest = url.partition("://")
    shown = sanitize(f"{scheme}://{rest.rpartition('@')[2]}")
    return ProbeError(
        "proxies.unusable", variable=variable, proxy=shown, host=base_url.host
    )
