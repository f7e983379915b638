"""The step "proxies": which proxy the environment sets for the address.

The environment is read only here, and the HTTP client gets the result, so the report
always matches what the requests do. The value of a variable is shown only if it cannot
contain a password.

Python reads the proxies that are entered by hand in the settings of macOS and Windows,
but no PAC file, and nothing of the settings of GNOME and KDE: those are looked for only
to name a proxy that Python programs do not use.
"""

from __future__ import annotations

import configparser
import ipaddress
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, getproxies_environment, proxy_bypass

from readback.probe.common.formatting import sanitize
from readback.probe.common.results import Diagnosis, Fact, ProbeError
from readback.probe.connection import stores
from readback.probe.diagnoses import diagnose
from readback.probe.entered.base_url import PORTS, BaseUrl, is_ip_address
from readback.probe.transport import socks
from readback.probe.transport.route import Proxy, Route

_SYSTEM = "the system settings"
_PORTS = {**PORTS, **dict.fromkeys(socks.SCHEMES, socks.PORT)}
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"
_SHOWABLE = re.compile(r"([a-z][a-z0-9+.-]{0,15}://)?[\w.-]{1,253}(:\d{1,5})?/?", re.I)
_HOST = re.compile(r"[\w.-]{1,253}|[0-9a-f:.]{2,45}", re.IGNORECASE)
# A user name or password with one of these characters ends the host part of the URL.
_CUT_LOGIN = re.compile(r"[^@/?#\\]*[/?#\\].*@")
# Programs may read a user name or password with one of these differently.
_AMBIGUOUS = re.compile(r"@|%(?![0-9a-f]{2})", re.IGNORECASE)
_PAC = re.compile(r"\.pac\b|/wpad\.dat\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,;|]+")
# These programs take some milliseconds, and far longer on a machine that is busy.
_MAX_SETTINGS_SECONDS = 5.0
_DISCOVERY = "automatic discovery (WPAD)"


def check(base_url: BaseUrl) -> tuple[list[Diagnosis], Route]:
    configured = getproxies()
    name = base_url.scheme if base_url.scheme in configured else "all"
    value = configured.get(name, "")
    variables = (f"{one}_proxy" for one in (base_url.scheme, name, "no"))
    warnings = [
        diagnose("proxies.case_differs", lower=lower, upper=lower.upper())
        for lower in dict.fromkeys(variables)
        if {lower, lower.upper()} <= os.environ.keys()
        and os.environ[lower] != os.environ[lower.upper()]
    ]
    if not value:
        setting = unused_system_proxy()
        id = "proxies.system" if setting else "proxies.none"
        found = [diagnose(id, setting=setting), *warnings]
        return found, Route(base_url, unused_proxy=setting)
    # Python prefers the variable in lower case.
    lower = f"{name}_proxy"
    variable = lower if os.environ.get(lower) else lower.upper()
    if name not in getproxies_environment():
        variable = _SYSTEM
    # Other programs look up a port in NO_PROXY only if it is unusual.
    is_usual = base_url.port == PORTS[base_url.scheme] and ":" not in base_url.host
    looked_up = base_url.host if is_usual else f"{base_url.host}:{base_url.port}"
    if proxy_bypass(looked_up):
        bypassed = diagnose("proxies.bypassed", variable=variable)
        return [bypassed, *warnings], Route(base_url)
    proxy = read_setting(value, variable, base_url.host)
    if _AMBIGUOUS.search(value.rpartition("://")[2].rpartition("@")[0]):
        warnings.append(diagnose("proxies.password_ambiguous", variable=variable))
    excluded = filter(None, _SEPARATORS.split(configured.get("no", "")))
    if entry := next((one for one in excluded if _seems_to_mean(one, base_url)), ""):
        facts = {"entry": sanitize(entry), "host": base_url.host}
        warnings.append(diagnose("proxies.no_proxy_ignored", **facts))
    id = "proxies.socks" if proxy.is_socks else "proxies.used"
    used = diagnose(id, proxy=str(proxy), variable=variable, scheme=proxy.scheme)
    return [used, *warnings], Route(base_url, proxy)


def read_setting(value: str, variable: str, host: str) -> Proxy:
    """Return the proxy; raise `ProbeError` if programs could not use the value."""
    facts: dict[str, Fact] = {"variable": variable, "host": host}
    clean = value.strip().strip(_QUOTES).strip()
    if clean != value or any(map(str.isspace, clean)):
        raise ProbeError("proxies.quoted", **facts)
    scheme, separator, rest = clean.partition("://")
    if not separator:
        scheme, rest = "http", clean
    if _PAC.search(rest) or scheme.lower().startswith("pac"):
        raise ProbeError("proxies.pac", **facts)
    if _CUT_LOGIN.match(rest):
        raise ProbeError("proxies.password", **facts)
    if scheme.lower() not in _PORTS:
        raise ProbeError("proxies.unusable", proxy=_shown(clean), **facts)
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port
    except ValueError:
        raise ProbeError("proxies.bad_port", **facts) from None
    if not _HOST.fullmatch(parts.hostname or ""):
        raise ProbeError("proxies.no_host", **facts)
    if port == 0:
        raise ProbeError("proxies.bad_port", **facts)
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


def _shown(value: str) -> str:
    """Return the value as far as it is certain that no password is shown."""
    before, separator, after = value.rpartition("@")
    scheme = f"{before.partition('://')[0]}://" if "://" in before else ""
    safe = f"{scheme}{after}" if separator else value
    return safe if _SHOWABLE.fullmatch(safe) else "a value that is not shown here"


def _seems_to_mean(entry: str, target: BaseUrl) -> bool:
    """Return whether an entry of NO_PROXY means a host that it does not exclude.

    Python's standard library and others understand only host names, separated by
    commas.
    """
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


def unused_system_proxy() -> str:
    """Return what is set, safe to show, or "" if nothing is found."""
    for look in _PLACES.get(sys.platform, (_gnome, _kde)):
        try:
            if found := look():
                return found
        except (OSError, ValueError, subprocess.SubprocessError, configparser.Error):
            continue
    return ""


def _macos() -> str:
    settings = dict(re.findall(r"(\w+) : (.*)", _output("scutil", "--proxy")))
    if settings.get("ProxyAutoConfigEnable") == "1":
        return _pac_file(settings.get("ProxyAutoConfigURLString", ""))
    return _DISCOVERY if settings.get("ProxyAutoDiscoveryEnable") == "1" else ""


def _windows() -> str:
    import winreg  # Only there.

    path = r"Software\Microsoft\Windows\CurrentVersion\Internet Settings"
    with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as key:  # type: ignore[attr-defined]
        return _pac_file(str(winreg.QueryValueEx(key, "AutoConfigURL")[0]))  # type: ignore[attr-defined]


def _gnome() -> str:
    schema = "org.gnome.system.proxy"
    text = _output("gsettings", "list-recursively", schema)
    settings = {
        f"{name}/{key}": value.strip().strip("'")
        for name, key, value in re.findall(r"^(\S+) (\S+) (.*)$", text, re.MULTILINE)
    }
    mode = settings.get(f"{schema}/mode")
    if mode == "auto":
        return _pac_file(settings.get(f"{schema}/autoconfig-url", ""))
    if mode != "manual":
        return ""
    for kind in ("https", "http", "socks"):
        if host := settings.get(f"{schema}.{kind}/host"):
            return _shown_proxy(f"{host}:{settings.get(f'{schema}.{kind}/port')}")
    return ""


def _kde() -> str:
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    file = Path(folder).expanduser() / "kioslaverc"
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(file.read_text(encoding="utf-8", errors="replace"))
    if "Proxy Settings" not in parser:
        return ""
    settings = parser["Proxy Settings"]
    kind = settings.get("ProxyType", "0")
    if kind == "2":
        return _pac_file(settings.get("Proxy Config Script", ""))
    if kind == "3":
        return _DISCOVERY
    proxy = settings.get("httpsProxy") or settings.get("httpProxy") or ""
    return _shown_proxy(proxy) if kind == "1" and proxy else ""


_PLACES: dict[str, tuple[Callable[[], str], ...]] = {
    "darwin": (_macos,),
    "win32": (_windows,),
}


def _output(program: str, *arguments: str) -> str:
    if not (path := shutil.which(program)):
        return ""
    done = subprocess.run(
        [path, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_MAX_SETTINGS_SECONDS,
    )
    return done.stdout.decode("utf-8", "replace")


def _pac_file(url: str) -> str:
    if not url:
        return _DISCOVERY
    # Without user name, password and parameters, which may be secret.
    parts = urlsplit(url)
    return sanitize(f"the PAC file {parts.scheme}://{parts.hostname or ''}{parts.path}")


def _shown_proxy(address: str) -> str:
    return sanitize(f"the proxy {address.rpartition('@')[2].rpartition('://')[2]}")
