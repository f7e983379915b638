"""Reads the value of a proxy variable, and tells apart what is wrong with it.

A value is shown only if it cannot contain a password.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

from readback.probe.common.results import Fact, ProbeError
from readback.probe.connection import stores
from readback.probe.entered.base_url import PORTS
from readback.probe.transport import socks
from readback.probe.transport.route import Proxy

_PORTS = {**PORTS, **dict.fromkeys(socks.SCHEMES, socks.PORT)}
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"
_SHOWABLE = re.compile(r"([a-z][a-z0-9+.-]{0,15}://)?[\w.-]{1,253}(:\d{1,5})?/?", re.I)
_HOST = re.compile(r"[\w.-]{1,253}|[0-9a-f:.]{2,45}", re.IGNORECASE)
# A user name or password with one of these characters ends the host part of the URL.
_CUT_LOGIN = re.compile(r"[^@/?#\\]*[/?#\\].*@")
_AMBIGUOUS = re.compile(r"@|%(?![0-9a-f]{2})", re.IGNORECASE)


def read(value: str, variable: str, host: str) -> Proxy:
    """Return the proxy; raise `ProbeError` if programs could not use the value."""
    facts: dict[str, Fact] = {"variable": variable, "host": host}
    clean = value.strip().strip(_QUOTES).strip()
    if clean != value or any(map(str.isspace, clean)):
        raise ProbeError("proxies.quoted", **facts)
    scheme, separator, rest = clean.partition("://")
    if not separator:
        scheme, rest = "http", clean
    if _CUT_LOGIN.match(rest):
        raise ProbeError("proxies.password", **facts)
    if scheme.lower() not in _PORTS:
        raise ProbeError("proxies.unusable", proxy=shown(clean), **facts)
    return _proxy(f"{scheme}://{rest}", variable, facts)


def is_ambiguous(value: str) -> bool:
    """Return whether programs may read the user name or password differently."""
    login = value.rpartition("://")[2].rpartition("@")[0]
    return bool(_AMBIGUOUS.search(login))


def shown(value: str) -> str:
    """Return the value as far as it is certain that no password is shown."""
    before, separator, after = value.rpartition("@")
    scheme = f"{before.partition('://')[0]}://" if "://" in before else ""
    safe = f"{scheme}{after}" if separator else value
    return safe if _SHOWABLE.fullmatch(safe) else "a value that is not shown here"


def _proxy(url: str, variable: str, facts: dict[str, Fact]) -> Proxy:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ProbeError("proxies.bad_port", **facts) from None
    if not _HOST.fullmatch(parts.hostname or ""):
        raise ProbeError("proxies.no_host", **facts)
    if port == 0:
        raise ProbeError("proxies.bad_port", **facts)
    return Proxy(
        parts.scheme,
        parts.hostname or "",
        port or _PORTS[parts.scheme],
        variable,
        _login(parts),
        stores.together() if parts.scheme == "https" else None,
    )


def _login(parts: SplitResult) -> tuple[str, str] | None:
    if parts.username is None:
        return None
    return unquote(parts.username), unquote(parts.password or "")
