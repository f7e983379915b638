"""Explains a redirect: another address, a login, a loop, or the portal of a network."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urljoin, urlsplit

from readback.probe.common.results import Fact, ProbeError
from readback.probe.entered.base_url import PORTS, is_ip_address, is_local, shown_url
from readback.probe.transport.client import ProbeResponse
from readback.probe.transport.context import MODELS

PORTAL = re.compile(
    r"captive|hotspot|wi-?fi|portal|/guest/|[?&]zone="
    r"|network ?(access|login|authentication)",
    re.IGNORECASE,
)
LOGIN = re.compile(
    r"\b(sign|log)[-_ ]?(in|on)\b|\bsso\b|saml|oauth2?\b|openid|authorize|/auth/"
    r"|single sign-on|cloudflareaccess\.com|okta\.com|auth0\.com|authentik|keycloak"
    r"|login\.|accounts\.google\.com|anmeld|вход\b|авториз",
    re.IGNORECASE,
)


def explain(response: ProbeResponse) -> ProbeError:
    location = response.headers.get("Location", "")
    try:
        target = urljoin(response.url, location)
        old, new = urlsplit(response.url), urlsplit(target)
        is_moved = _place(old) != _place(new)
    except ValueError:
        return ProbeError("http.redirect", location="an invalid address", use=_FINAL)
    shown = shown_url(target)
    facts: dict[str, Fact] = {
        "location": shown,
        "status": response.status,
        "title": "a redirect",
    }
    where = f": it redirects to {shown}"
    if not location or not is_moved and old.path == new.path:
        if "Set-Cookie" in response.headers:
            return ProbeError("between.cookie_wall", **facts)
        return ProbeError("http.redirect_loop", **facts)
    if is_moved and (PORTAL.search(_beyond(old, new)) or _is_inside(old, new)):
        return ProbeError("http.captive_portal", where=where)
    if LOGIN.search(_beyond(old, new)):
        return ProbeError("http.login_wall", where=f" at {shown}", **facts)
    is_same_host = old.hostname == new.hostname
    base = shown.removesuffix(MODELS)
    if is_same_host and (old.scheme, new.scheme) == ("http", "https"):
        return ProbeError("http.redirect_https", base=base)
    if is_same_host and (old.scheme, new.scheme) == ("https", "http"):
        return ProbeError("http.redirect_plain", **facts)
    if not is_moved and new.path == f"{old.path}/":
        return ProbeError("http.redirect_slash", **facts)
    use = f"Use {base} if it is that of the same service" if base != shown else _FINAL
    return ProbeError("http.redirect", location=shown, use=use)


_FINAL = "Use the final address"


def _place(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme)


def _beyond(old: SplitResult, new: SplitResult) -> str:
    """Return what is new in the target; the own address may contain any word."""
    host = "" if new.hostname == old.hostname else new.hostname or ""
    path = new.path.removeprefix(old.path) if host == "" else new.path
    return f"{host}{path}?{new.query}"


def _is_inside(old: SplitResult, new: SplitResult) -> bool:
    """Return whether a host on the Internet redirects into a private network."""
    host = new.hostname or ""
    is_private = is_ip_address(host) and ipaddress.ip_address(host).is_private
    return is_private and not is_local(old.hostname or "")
