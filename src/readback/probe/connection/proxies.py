"""The step "proxies": whether the environment sets a proxy for the address.

The environment is read only here, and the HTTP client gets the result, so the report
always matches what the requests do.
"""

from __future__ import annotations

from urllib.parse import SplitResult, unquote
from urllib.request import getproxies, proxy_bypass

from readback.probe.connection.route import Proxy, Route
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import PORTS, BaseUrl, split
from readback.probe.formatting import sanitize
from readback.probe.results import Diagnosis, ProbeError


def check(base_url: BaseUrl) -> tuple[Diagnosis, Route]:
    direct = Route(base_url)
    configured = getproxies()
    scheme = base_url.scheme if base_url.scheme in configured else "all"
    url = configured.get(scheme)
    if not url:
        return diagnose("proxies.none"), direct
    variable = f"{scheme.upper()}_PROXY"
    if proxy_bypass(f"{base_url.host}:{base_url.port}"):
        return diagnose("proxies.bypassed", variable=variable), direct
    proxy = _read(url if "://" in url else f"http://{url}", variable, base_url)
    diagnosis = diagnose("proxies.used", proxy=str(proxy), variable=variable)
    return diagnosis, Route(base_url, proxy)


def _read(url: str, variable: str, base_url: BaseUrl) -> Proxy:
    try:
        parts = split(url)
    except ProbeError:
        raise _unusable(url, variable, base_url) from None
    port = parts.port or PORTS[parts.scheme]
    return Proxy(parts.scheme, parts.hostname or "", port, variable, _login(parts))


def _login(parts: SplitResult) -> str | None:
    if parts.username is None:
        return None
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def _unusable(url: str, variable: str, base_url: BaseUrl) -> ProbeError:
    # The part before the @ may contain a password.
    scheme, _, rest = url.partition("://")
    shown = sanitize(f"{scheme}://{rest.rpartition('@')[2]}")
    return ProbeError(
        "proxies.unusable", variable=variable, proxy=shown, host=base_url.host
    )
