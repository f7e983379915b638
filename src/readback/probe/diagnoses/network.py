"""Diagnoses of the network: proxies, DNS and TCP."""

from __future__ import annotations

from readback.probe.diagnoses.templates import fail, ok, warn
from readback.probe.results import Culprit, FailureFamily

NETWORK = (
    ok("proxies.none", "No proxy is set in the environment."),
    ok("proxies.bypassed", "{variable} is set, but NO_PROXY excludes this host."),
    ok("proxies.used", "Requests go through the proxy {proxy}, set in {variable}."),
    fail(
        "proxies.unusable",
        FailureFamily.NETWORK,
        Culprit.MACHINE,
        "{variable} is set to {proxy}, which is not an HTTP proxy.",
        "Correct or unset {variable}, or add {host} to NO_PROXY. For a SOCKS proxy, "
        "programs that use httpx (openai does) need the package httpx[socks].",
    ),
    ok("dns.ok", "{host} resolves to {addresses}."),
    ok("dns.literal", "{host} is an IP address, so no DNS lookup is needed."),
    fail(
        "dns.unknown",
        FailureFamily.NETWORK,
        Culprit.INPUT,
        "The host name {host} does not exist.",
        "Compare it letter by letter with the address in the cabinet. Inside a company "
        "network or a container, find out which DNS server can resolve it.",
    ),
    fail(
        "dns.failed",
        FailureFamily.NETWORK,
        Culprit.MACHINE,
        "The DNS lookup of {host} failed: {reason}.",
        "Check that this machine is online, then check its DNS settings and any VPN.",
    ),
    fail(
        "dns.silent",
        FailureFamily.NETWORK,
        Culprit.NETWORK,
        "The DNS server did not respond within {timeout} s.",
        "Check the DNS settings of this machine and any VPN.",
    ),
    ok("tcp.ok", "Connected to {addresses}."),
    warn(
        "tcp.v6_only",
        Culprit.NETWORK,
        "The service is reachable only over IPv6.",
        "Programs, containers and networks without IPv6 cannot connect to it.",
    ),
    warn(
        "tcp.partly",
        Culprit.SERVICE,
        "Some addresses of {host} are unreachable: {unreachable}.",
        "Clients that try them lose time or fail now and then. Tell the operator.",
    ),
    fail(
        "tcp.refused",
        FailureFamily.NETWORK,
        Culprit.SERVICE,
        "{host} refused the connection: nothing is listening on port {port}.",
        "Compare the port with the address in the cabinet, and check that the service "
        "is running.",
    ),
    fail(
        "tcp.timeout",
        FailureFamily.NETWORK,
        Culprit.NETWORK,
        "No response from {host} on port {port} within {timeout} s: a firewall drops "
        "the packets, or the machine is down.",
        "Ask your network administrator to allow connections to {host}:{port}, or set "
        "the proxy that you have to use.",
    ),
    fail(
        "tcp.unreachable",
        FailureFamily.NETWORK,
        Culprit.NETWORK,
        "{host} cannot be reached: {reason}.",
        "Check the network of this machine: routes, VPN, IPv6.",
    ),
    fail(
        "proxy.unreachable",
        FailureFamily.NETWORK,
        Culprit.MACHINE,
        "The proxy {proxy} cannot be reached: {reason}.",
        "Correct or unset {variable}, or add the service's host to NO_PROXY.",
    ),
    fail(
        "proxy.refuses",
        FailureFamily.NETWORK,
        Culprit.PROXY,
        "The proxy did not connect to {host}: {reason}.",
        "Ask the administrator of the proxy to allow {host}.",
    ),
    fail(
        "proxy.login",
        FailureFamily.NETWORK,
        Culprit.PROXY,
        "The proxy requires a user name and a password.",
        "Add them to the proxy's address in the environment variable.",
    ),
)
