"""The step "proxies": which proxy the environment sets for the address.

The HTTP client uses the result, so the report always matches what the requests do. A
proxy is shown without its login. On macOS and Windows, Python also reads the proxies
from the system's settings.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, getproxies_environment, proxy_bypass

from readback.probe.common.catalogue import diagnose, from_error, say
from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, ProbeError, as_warning
from readback.probe.connection import stores
from readback.probe.entered.base_url import PORTS, BaseUrl, is_ip_address, is_local
from readback.probe.transport import opening
from readback.probe.transport.connecting import Proxy, Route

_PORTS = {**PORTS, **dict.fromkeys(opening.SOCKS_SCHEMES, opening.SOCKS_PORT)}
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"
_HOST = re.compile(r"[\w.-]{1,253}|[0-9a-f:.]{2,45}", re.IGNORECASE)
# A login with a character (/ ? # \) that ends a URL's host part.
_CUT_LOGIN = re.compile(r"[^@/?#\\]*[/?#\\].*@")
_PAC = re.compile(r"\.pac\b|/wpad\.dat\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,;|]+")


def check(base_url: BaseUrl) -> tuple[list[Diagnosis], Route]:
    found, route = _used(base_url)
    return [*found, *_unusable()], route


def _unusable() -> Iterator[Diagnosis]:
    """Yield a warning for each unusable variable, because httpx reads all of them."""
    for name in (*PORTS, "all"):
        if value := getproxies_environment().get(name):
            try:
                read_setting(value, _variable(name))
            except ProbeError as error:
                yield as_warning(from_error(error))


def _variable(name: str) -> str:
    # Python prefers the variable in lower case.
    lower = f"{name}_proxy"
    return lower if os.environ.get(lower) else lower.upper()


def _used(base_url: BaseUrl) -> tuple[list[Diagnosis], Route]:
    configured = getproxies()
    name = base_url.scheme if base_url.scheme in configured else "all"
    value = configured.get(name, "")
    if not value:
        why = ""
        if other := next(filter(configured.get, PORTS), ""):
            variable = f"{other.upper()}_PROXY"
            why = say("only_other_proxy", variable=variable, scheme=other)
        return [diagnose("proxies.none", why=why)], Route(base_url)
    variable = _variable(name)
    if name not in getproxies_environment():
        variable = say("the_system_settings")
    # Like other programs, include the port in the comparison unless it is the default.
    is_usual = base_url.port == PORTS[base_url.scheme] and ":" not in base_url.host
    looked_up = base_url.host if is_usual else f"{base_url.host}:{base_url.port}"
    if proxy_bypass(looked_up):
        why = say("no_proxy_excludes", variable=variable)
        return [diagnose("proxies.none", why=why)], Route(base_url)
    proxy = read_setting(value, variable)
    facts = {"variable": variable, "proxy": str(proxy)}
    warnings = []
    entries = filter(None, _SEPARATORS.split(configured.get("no", "")))
    similar = (entry for entry in entries if _seems_to_mean(entry, base_url))
    if entry := next(similar, ""):
        names = {"entry": sanitize(entry), "host": base_url.host}
        warnings.append(diagnose("proxies.no_proxy_ignored", **names))
    elif _is_near(base_url.host):
        warnings.append(diagnose("proxies.near", host=base_url.host, **facts))
    note = say("needs_socks") if proxy.is_socks else ""
    used = diagnose("proxies.used", scheme=proxy.scheme, note=note, **facts)
    return [used, *warnings], Route(base_url, proxy)


def read_setting(value: str, variable: str) -> Proxy:
    def malformed(why: str) -> ProbeError:
        return ProbeError("proxies.malformed", variable=variable, why=why)

    clean = value.strip().strip(_QUOTES).strip()
    if clean != value or any(map(str.isspace, clean)):
        raise malformed(say("contains_quotes"))
    scheme, separator, rest = clean.partition("://")
    if not separator:
        scheme = "http"
        rest = clean
    if _PAC.search(rest) or scheme.lower().startswith("pac"):
        raise malformed(say("is_pac_file"))
    if _CUT_LOGIN.match(rest):
        raise malformed(say("login_ends_address"))
    if scheme.lower() not in _PORTS:
        raise malformed(say("unknown_scheme"))
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port
    except ValueError:
        port = 0
    if port == 0 or not _HOST.fullmatch(parts.hostname or ""):
        raise malformed(say("bad_host"))
    login = None
    if parts.username is not None:
        login = unquote(parts.username), unquote(parts.password or "")
    return Proxy(
        parts.scheme,
        parts.hostname or "",
        port or _PORTS[parts.scheme],
        variable,
        login,
        stores.together() if parts.scheme == "https" else None,
    )


def _is_near(host: str) -> bool:
    """Return whether this is a host here or in a local network."""
    is_short = "." not in host or host.endswith((".localhost", ".local", ".lan"))
    return is_local(host) if is_ip_address(host) else is_short


def _seems_to_mean(entry: str, target: BaseUrl) -> bool:
    """Return whether a NO_PROXY entry that did not match was probably meant to."""
    text = entry.strip("\"'").lower().rpartition("://")[2]
    if "*" in text and fnmatchcase(target.host, text):
        return True
    if is_ip_address(target.host):
        try:
            network = ipaddress.ip_network(text.strip("[]"), strict=False)
        except ValueError:
            return False
        return ipaddress.ip_address(target.host) in network
    name, _, port = text.rstrip("/").partition(":")
    if port and port != str(target.port):
        return False
    name = name.lstrip("*.")
    return bool(name) and f".{target.host}".endswith(f".{name}")
