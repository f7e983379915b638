"""What a redirect means: another address, a loop, a login, a portal or a filter."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from readback.probe.common.catalogue import say
from readback.probe.common.results import Fact, ProbeError
from readback.probe.entered.base_url import PORTS, is_ip_address, is_local, shown_url
from readback.probe.transport.context import MODELS
from readback.probe.transport.exchanges import ProbeResponse

_FILTER = re.compile(
    "block|denied|forbid|filter|restrict|warning|usercheck|sinkhole|internet-?positi[fv]"
    "|zscaler|zscloud|fortiguard|goskope|umbrella",
    re.IGNORECASE,
)
PORTAL = re.compile(
    r"captive|hotspot|wi-?fi|wlan|portal|portail|/guest/|voucher"
    r"|[?&](zone|(client_?|ap_?|user_?)?mac|ssid|nasid|redirurl)="
    r"|\bguest (access|network|internet)|/splash|network-auth"
    r"|network ?(access|login|authentication)",
    re.IGNORECASE,
)
LOGIN = re.compile(
    r"\b(sign|log)[-_ ]?(in|on)\b|\bsso\b|saml|oauth2?\b|openid|auth[/?]|adfs"
    r"|single sign-on|cloudflareaccess\.com|okta\.com|auth0\.com|authentik|keycloak"
    r"|\bauthorize|login\.|accounts\.google\.com|anmeld|вход\b|авториз",
    re.IGNORECASE,
)


def judge(
    response: ProbeResponse, location: str, *, is_recognized: bool = False
) -> ProbeError:
    """Return the error for a response that leads to another address."""
    try:
        target = urljoin(response.url, location)
        old = urlsplit(response.url)
        new = urlsplit(target)
        finding, kind = _found(old, new, is_recognized)
    except ValueError:
        invalid = say("an_invalid_address")
        return ProbeError("http.redirect", location=invalid, use=say("use_final"))
    shown = shown_url(target)
    facts: dict[str, Fact] = {
        "status": response.status,
        "title": say("a_redirect", location=shown),
        "location": shown,
        "kind": say(kind) if kind else "",
        "use": _advice(old, new, shown),
    }
    return ProbeError(finding, **facts)


def _found(old: SplitResult, new: SplitResult, is_recognized: bool) -> tuple[str, str]:
    """Return the id of the first finding that applies, and the id of its extra text."""
    is_same_host = old.hostname == new.hostname
    is_moved = _place(old) != _place(new)
    is_loop = not is_moved and old.path == new.path
    # Search only the new parts of the target: the old address may contain any word.
    path = new.path.removeprefix(old.path) if is_same_host else new.path
    beyond = f"{'' if is_same_host else new.hostname}{path}?{new.query}"
    # Over https, nothing between this machine and the certificate's owner can answer.
    is_open = is_moved and old.scheme == "http"
    # A host on the Internet that redirects into a private network.
    is_inward = is_ip_address(new.hostname or "") and is_local(new.hostname or "")
    is_inward = is_inward and not is_local(old.hostname or "")
    is_portal = PORTAL.search(beyond) or is_inward
    # A redirect to a login page often contains the address that was requested.
    passed_on = unquote(f"{new.path}?{new.query}")
    is_told = "://" in passed_on or MODELS in unquote(new.query)
    is_login = LOGIN.search(beyond) or (is_told and not is_same_host)
    is_filter = not is_same_host and _FILTER.search(f"{new.hostname}{new.path}")
    is_downgrade = is_same_host and (old.scheme, new.scheme) == ("https", "http")
    seen: tuple[tuple[object, str, str], ...] = (
        (is_loop, "http.redirect_loop", "comes_from"),
        (is_filter, "http.proxy_page", ""),
        (is_open and is_portal, "http.captive_portal", ""),
        (is_login, "http.login_wall", ""),
        (is_downgrade, "http.redirect_loop", "unencrypted"),
        (is_recognized and not is_moved, "between.other_response", ""),
        (True, "http.redirect", ""),
    )
    return next((finding, kind) for is_seen, finding, kind in seen if is_seen)


def _advice(old: SplitResult, new: SplitResult, shown: str) -> str:
    base = shown.removesuffix(MODELS)
    is_upgrade = (old.scheme, new.scheme) == ("http", "https")
    if old.hostname == new.hostname and is_upgrade:
        return say("use_https", base=base)
    return say("use_base", base=base) if base != shown else say("use_final")


def _place(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme)
