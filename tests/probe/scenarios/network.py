"""The network or a proxy does not let the connection through."""

from tests.probe.setups import (
    Scenario,
    closed_port,
    closed_proxy,
    packets_dropped,
    refused_by_proxy,
    socks_proxy,
    through_relay,
)

NETWORK = (
    Scenario("nothing listens on the port", "tcp.refused", closed_port),
    Scenario("a firewall drops every packet", "tcp.timeout", packets_dropped),
    Scenario(
        "the service is reachable only over IPv6",
        "tcp.v6_only",
        through_relay(host="::1"),
    ),
    Scenario("the configured proxy is down", "proxy.unreachable", closed_proxy),
    Scenario("the configured proxy is a SOCKS proxy", "proxies.unusable", socks_proxy),
    Scenario(
        "the proxy refuses the tunnel", "proxy.refuses", refused_by_proxy("https", 403)
    ),
    Scenario(
        "the proxy requires a login for the tunnel",
        "proxy.login",
        refused_by_proxy("https", 407),
    ),
    Scenario(
        "the proxy requires a login", "http.proxy_login", refused_by_proxy("http", 407)
    ),
)
