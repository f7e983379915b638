"""Which proxy each program would use for an address, and how it reads the variables.

The rules were found by running the versions in `comparison` with a recording proxy.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import urlsplit

from readback.probe.clients.settings import Machine
from readback.probe.common.formatting import sanitize
from readback.probe.entered.base_url import PORTS, BaseUrl, is_ip_address
from readback.probe.transport import socks

HTTP = {"http": "", "https": ""}
_REQUESTS_KINDS = {
    **HTTP,
    **dict.fromkeys(("socks4", "socks4a", "socks5", "socks5h"), "PySocks"),
}
_HTTPX_KINDS = {**HTTP, "socks5": "socksio", "socks5h": "socksio"}
_CURL_KINDS = {
    **HTTP,
    **dict.fromkeys(("socks", "socks4", "socks4a", "socks5", "socks5h"), ""),
}
# Java also sends whatever resolves to a loopback literal directly.
_JAVA_DIRECT = "localhost|127.*|[::1]"


class ProxyChoice(NamedTuple):
    """What a program would do; without a server it connects directly."""

    server: str = ""
    """Host and port, without a login."""
    variable: str = ""
    problem: str = ""
    """Why the program fails with this setting."""
    note: str = ""
    """What the program needs in addition."""

    @property
    def way(self) -> str:
        if self.problem:
            return f"fails: {self.problem}"
        return f"through {self.server}" if self.server else "directly"

    @property
    def description(self) -> str:
        origin = f", from {self.variable}" if self.variable and self.server else ""
        note = f", {self.note}" if self.note else ""
        return f"{self.way}{origin}{note}"


DIRECT = ProxyChoice()


def through(
    value: str, variable: str, kinds: Mapping[str, str], default_port: int | None = None
) -> ProxyChoice:
    """Return the choice of a program that supports these kinds of proxy.

    `kinds` has the additional package, if any, for each scheme.
    """
    if value != value.strip():
        return ProxyChoice("", variable, f"{variable} contains spaces")
    scheme, separator, rest = value.partition("://")
    if not separator:
        scheme, rest = "http", value
    try:
        # A password may contain characters that end the host in a URL.
        parts = urlsplit(f"//{rest.rpartition('@')[2]}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        return ProxyChoice("", variable, f"{variable} is not the address of a proxy")
    port = port or default_port or PORTS.get(scheme.lower(), socks.PORT)
    server = sanitize(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    if scheme.lower() not in kinds:
        kind = sanitize(scheme) or "such"
        return ProxyChoice(server, variable, f"no support for {kind} proxies")
    package = kinds[scheme.lower()]
    note = f"with the package {package}" if package else ""
    return ProxyChoice(server, variable, note=note)


def requests_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    variable, value = _configured(target, machine)
    is_excluded = _requests_bypass(target, machine.first("no_proxy", "NO_PROXY")[1])
    is_excluded |= _urllib_bypass(target.host, _variable(machine, "no")[1])
    if not value or is_excluded:
        return DIRECT
    return through(value.removeprefix("//"), variable, _REQUESTS_KINDS)


def httpx_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    # httpx reads NO_PROXY whenever a client is made, even if no proxy is set.
    entries = _no_proxy_entries(machine)
    if "*" not in entries and any(map(_breaks_httpx, entries)):
        variable = _variable(machine, "no")[0]
        return ProxyChoice("", variable, f"{variable} cannot be parsed")
    return _httpx_choice(target, machine, _httpx_excludes)


def httpx2_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    return _httpx_choice(target, machine, _httpx2_excludes)


def _httpx_choice(
    target: BaseUrl, machine: Machine, excludes: Callable[[str, BaseUrl], bool]
) -> ProxyChoice:
    variable, value = _configured(target, machine)
    entries = _no_proxy_entries(machine)
    if not value or "*" in entries or any(excludes(one, target) for one in entries):
        return DIRECT
    return through(value, variable, _HTTPX_KINDS)


def _variable(machine: Machine, name: str) -> tuple[str, str]:
    """Return the variable that Python reads for a scheme, and its value."""
    lower = f"{name}_proxy"
    # An empty variable in lower case hides the one in upper case.
    if lower in machine.variables:
        return lower, machine.variables[lower]
    others = (one for one in machine.variables if one.lower() == lower)
    return machine.first(*others)


def _configured(target: BaseUrl, machine: Machine) -> tuple[str, str]:
    variable, value = _variable(machine, target.scheme)
    # In a CGI program, anybody can set HTTP_PROXY with the request header Proxy.
    if variable == "HTTP_PROXY" and "REQUEST_METHOD" in machine.variables:
        value = ""
    return (variable, value) if value else _variable(machine, "all")


def _explicit_port(target: BaseUrl) -> int | None:
    return None if target.port == PORTS[target.scheme] else target.port


def _requests_bypass(target: BaseUrl, no_proxy: str) -> bool:
    entries = [one for one in no_proxy.replace(" ", "").split(",") if one]
    if is_ip_address(target.host) and ":" not in target.host:
        split = (entry.partition("/") for entry in entries)
        return any(
            bits.isdecimal() and bits != "0" and _in_network(target.host, address, bits)
            if slash
            else address == target.host
            for address, slash, bits in split
        )
    port = _explicit_port(target)
    names = {target.host, f"{target.host}:{port}" if port else target.host}
    return any(
        name == bare or name.endswith(f".{bare}")
        for bare in (entry.lstrip(".") for entry in entries)
        for name in names
    )


def _urllib_bypass(host: str, no_proxy: str) -> bool:
    if no_proxy == "*":
        return True
    names = (entry.strip().lstrip(".").lower() for entry in no_proxy.split(","))
    return any(name and (host == name or host.endswith(f".{name}")) for name in names)


def _no_proxy_entries(machine: Machine) -> list[str]:
    entries = _variable(machine, "no")[1].split(",")
    return [entry.strip() for entry in entries if entry.strip()]


def _breaks_httpx(entry: str) -> bool:
    """Return whether httpx 0.28 raises InvalidURL because of this entry."""
    if "://" in entry:
        return False
    if _is_ip(entry):
        return ":" in entry and "/" in entry
    _, colon, port = re.split("[/?#]", entry)[0].rpartition(":")
    return "[" in entry or (bool(colon) and not port.isdecimal())


def _httpx_excludes(entry: str, target: BaseUrl) -> bool:
    if "://" in entry:
        return _matches_url(entry, target)
    if _is_ip(entry):
        # The length of a network's prefix is ignored.
        return entry.split("/")[0] == target.host
    return _matches_name(entry, target)


def _httpx2_excludes(entry: str, target: BaseUrl) -> bool:
    if "://" in entry:
        return _matches_url(entry, target)
    address, slash, bits = entry.partition("/")
    if _is_ip(entry):
        if not slash:
            return entry == target.host
        return bits.isdecimal() and _in_network(target.host, address, bits)
    if entry.startswith("["):
        return _matches_url(f"all://{entry}", target)
    return not slash and _matches_name(entry, target)


def _matches_name(entry: str, target: BaseUrl) -> bool:
    name, _, port = entry.lower().split("/")[0].rpartition(":")
    if not name:
        name, port = port, ""
    if port and (not port.isdecimal() or int(port) != _explicit_port(target)):
        return False
    if name == "localhost" and not port:
        return target.host == name
    if name.startswith("."):
        return target.host.endswith(name) and target.host != name
    return target.host == name or target.host.endswith(f".{name}")


def _matches_url(entry: str, target: BaseUrl) -> bool:
    try:
        parts = urlsplit(entry)
        port = parts.port
    except ValueError:
        return False
    return (
        parts.scheme in ("all", target.scheme)
        and parts.hostname in (None, target.host)
        and port in (None, _explicit_port(target))
    )


def _is_ip(entry: str) -> bool:
    return is_ip_address(entry.split("/")[0])


def _in_network(host: str, address: str, bits: str) -> bool:
    try:
        network = ipaddress.ip_network(f"{address}/{bits}", strict=False)
        return ipaddress.ip_address(host) in network
    except ValueError:
        return False


def curl_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    # HTTP_PROXY in upper case is ignored: a CGI program gets it from a request header.
    names = [f"{target.scheme}_proxy"]
    if target.is_encrypted:
        names.append("HTTPS_PROXY")
    variable, value = machine.first(*names, "all_proxy", "ALL_PROXY")
    if not value or _curl_excludes(machine.first("no_proxy", "NO_PROXY")[1], target):
        return DIRECT
    port = None if value.lower().startswith("https://") else socks.PORT
    return through(value, variable, _CURL_KINDS, port)


def _curl_excludes(no_proxy: str, target: BaseUrl) -> bool:
    if no_proxy == "*":
        return True
    host = target.host.rstrip(".")
    for entry in re.split(r"[,\s]+", no_proxy.lower()):
        network, slash, bits = entry.rpartition("/")
        if is_ip_address(host):
            is_network = slash and ":" not in host and bits.isdecimal()
            if entry == host or (is_network and _in_network(host, network, bits)):
                return True
        elif (domain := entry.strip(".")) and f".{host}".endswith(f".{domain}"):
            return True
    return False


def java_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    host = machine.java_property(f"{target.scheme}.proxyHost")
    excluded = machine.java_property("http.nonProxyHosts") or _JAVA_DIRECT
    name = f"[{target.host}]" if ":" in target.host else target.host
    # Only the asterisk is a wildcard in Java.
    patterns = (re.sub(r"([][?])", r"[\1]", one) for one in excluded.lower().split("|"))
    is_excluded = any(fnmatchcase(name, pattern) for pattern in patterns)
    if not host or is_loopback(target.host) or is_excluded:
        return DIRECT
    default = str(PORTS[target.scheme])
    port = machine.java_property(f"{target.scheme}.proxyPort") or default
    return through(f"{host}:{port}", f"-D{target.scheme}.proxyHost", HTTP)


def is_loopback(host: str) -> bool:
    if is_ip_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
