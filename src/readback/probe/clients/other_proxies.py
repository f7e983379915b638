"""Which proxy curl, Go, Node's fetch and Java's HttpClient would use for an address.

The rules were found by running the versions in `programs` with a recording proxy.
"""

from __future__ import annotations

import ipaddress
import re
from fnmatch import fnmatchcase

from readback.probe.clients.machine import Machine
from readback.probe.clients.proxy_choice import DIRECT, HTTP, ProxyChoice, through
from readback.probe.entered.base_url import PORTS, BaseUrl, is_ip_address

_CURL_KINDS = {
    **HTTP,
    **dict.fromkeys(("socks", "socks4", "socks4a", "socks5", "socks5h"), ""),
}
_CURL_DEFAULT_PORT = 1080
_GO_KINDS = {**HTTP, "socks5": "", "socks5h": ""}
_NODE_KINDS = {**HTTP, "socks": "", "socks5": ""}
# Java also sends whatever resolves to a loopback literal directly.
_JAVA_DIRECT = "localhost|127.*|[::1]"


def curl_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    # HTTP_PROXY in upper case is ignored: a CGI program gets it from a request header.
    names = [f"{target.scheme}_proxy"]
    if target.is_encrypted:
        names.append("HTTPS_PROXY")
    variable, value = machine.first(*names, "all_proxy", "ALL_PROXY")
    if not value or _curl_excludes(machine.first("no_proxy", "NO_PROXY")[1], target):
        return DIRECT
    port = None if value.lower().startswith("https://") else _CURL_DEFAULT_PORT
    return through(value, variable, _CURL_KINDS, default_port=port)


def _curl_excludes(no_proxy: str, target: BaseUrl) -> bool:
    if no_proxy == "*":
        return True
    host = target.host.rstrip(".")
    for entry in re.split(r"[,\s]+", no_proxy.lower()):
        if is_ip_address(host):
            if entry == host or (":" not in host and _contains(entry, host)):
                return True
        elif _is_under(host, entry.strip(".")):
            return True
    return False


def go_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    upper = f"{target.scheme.upper()}_PROXY"
    variable, value = machine.first(upper, upper.lower())
    excluded = machine.first("NO_PROXY", "no_proxy")[1]
    if not value or is_loopback(target.host) or _go_excludes(excluded, target):
        return DIRECT
    if value != value.strip() or value.startswith("//"):
        return DIRECT
    if upper == "HTTP_PROXY" and "REQUEST_METHOD" in machine.variables:
        return ProxyChoice("", variable, f"{variable} is refused in a CGI program")
    return through(value, variable, _GO_KINDS)


def _go_excludes(no_proxy: str, target: BaseUrl) -> bool:
    entries = [entry.strip().lower() for entry in no_proxy.split(",")]
    return "*" in entries or any(_go_matches(one, target) for one in entries if one)


def _go_matches(entry: str, target: BaseUrl) -> bool:
    if "/" in entry:
        return _contains(entry, target.host)
    host, port = _split_port(entry)
    if port and port != str(target.port):
        return False
    if is_ip_address(host) or is_ip_address(target.host):
        return _same_ip(host, target.host)
    if host.startswith(("*.", ".")):
        return target.host.endswith(host.lstrip("*"))
    return _is_under(target.host, host)


def _split_port(entry: str) -> tuple[str, str]:
    """Split host and port; an IPv6 address has a port only if it is in brackets."""
    match = re.fullmatch(r"\[([^]]*)\]:(\d+)|([^:]*):(\d+)", entry)
    if not match:
        return entry, ""
    return match[1] or match[3] or "", match[2] or match[4]


def old_node_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    return DIRECT


def node_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    if machine.variables.get(
        "NODE_USE_ENV_PROXY"
    ) != "1" and "--use-env-proxy" not in machine.words("NODE_OPTIONS"):
        return DIRECT
    variable, value = _node_variable(machine, f"{target.scheme}_proxy")
    if not value:
        # The proxy for http is also used for https if there is no other.
        variable, value = _node_variable(machine, "http_proxy")
    value = value.strip()
    # An address without a scheme ends the program before it runs anything.
    if value and "://" not in value:
        return ProxyChoice("", variable, f"{variable} has no http:// in front")
    excluded = _node_variable(machine, "no_proxy")[1]
    if not value or _node_excludes(excluded, target):
        return DIRECT
    return through(value, variable, _NODE_KINDS)


def _node_variable(machine: Machine, lower: str) -> tuple[str, str]:
    # An empty variable in lower case hides the one in upper case.
    name = lower if lower in machine.variables else lower.upper()
    return name, machine.variables.get(name, "")


def _node_excludes(no_proxy: str, target: BaseUrl) -> bool:
    if no_proxy == "*":
        return True
    host = f"[{target.host}]" if ":" in target.host else target.host
    for entry in re.split(r"[,\s]+", no_proxy.lower()):
        match = re.fullmatch(r"(.+):(\d+)", entry)
        name, port = (match[1], match[2]) if match else (entry, "")
        name = re.sub(r"^\*?\.", "", name)
        if port in ("", str(target.port)) and _is_under(host, name):
            return True
    return False


def java_proxy(target: BaseUrl, machine: Machine) -> ProxyChoice:
    host = machine.java_property(f"{target.scheme}.proxyHost")
    excluded = machine.java_property("http.nonProxyHosts") or _JAVA_DIRECT
    if not host or is_loopback(target.host) or _java_excludes(excluded, target.host):
        return DIRECT
    default = str(PORTS[target.scheme])
    port = machine.java_property(f"{target.scheme}.proxyPort") or default
    return through(f"{host}:{port}", f"-D{target.scheme}.proxyHost", HTTP)


def _java_excludes(patterns: str, host: str) -> bool:
    name = f"[{host}]" if ":" in host else host
    # Only the asterisk is a wildcard in Java.
    escaped = (re.sub(r"([][?])", r"[\1]", one) for one in patterns.lower().split("|"))
    return any(fnmatchcase(name, pattern) for pattern in escaped)


def _is_under(host: str, domain: str) -> bool:
    """Return whether the host is the domain or one of its subdomains."""
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def is_loopback(host: str) -> bool:
    if is_ip_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _contains(network: str, host: str) -> bool:
    """Return whether a network in CIDR notation contains the host."""
    if not re.fullmatch(r".+/\d+", network):
        return False
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _same_ip(one: str, other: str) -> bool:
    try:
        return ipaddress.ip_address(one) == ipaddress.ip_address(other)
    except ValueError:
        return False
