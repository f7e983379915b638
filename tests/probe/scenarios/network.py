"""The network or a proxy does not let the connection through."""

from tests.probe import broken_servers, corruptions
from tests.probe.relay import Response
from tests.probe.setups import (
    Scenario,
    closed_port,
    closed_proxy,
    packets_dropped,
    refused_by_proxy,
    through_relay,
)
from tests.probe.setups_network import (
    behind_broken_proxy,
    behind_forward_proxy,
    behind_socks,
    in_container,
    responding,
    with_proxy,
)

_SETTINGS = (
    Scenario(
        "an entry of `NO_PROXY` has a scheme",
        "proxies.no_proxy_ignored",
        behind_forward_proxy(no_proxy="http://127.0.0.1"),
    ),
    Scenario(
        "the proxy's password contains a `#`",
        "proxies.malformed",
        with_proxy("http://alice:12#34@127.0.0.1:3128"),
    ),
)

_PROXIES = (
    Scenario(
        "the proxy's name does not exist",
        "proxy.unknown_host",
        with_proxy(f"http://{'x' * 64}:3128"),
    ),
    Scenario("the configured proxy is down", "proxy.unreachable", closed_proxy),
    Scenario(
        "the proxy accepts the connection and stays silent",
        "proxy.silent",
        behind_broken_proxy(broken_servers.stay_silent),
    ),
    Scenario(
        "a mail server is set as the proxy",
        "proxy.wrong_kind",
        behind_broken_proxy(broken_servers.greet),
    ),
    Scenario(
        "the proxy requires a login for the tunnel",
        "proxy.login",
        refused_by_proxy("https", 407),
    ),
    Scenario(
        "a proxy that is not configured requires a login",
        "http.proxy_page",
        through_relay(on_response=lambda _: Response(407, "Login", {}, b"")),
    ),
    Scenario(
        "the proxy answers with a login page",
        "proxy.login_scheme",
        behind_broken_proxy(
            responding("200 OK", corruptions.PAGE % b"Log in", Content_Type="text/html")
        ),
    ),
    Scenario(
        "a request through a proxy is refused",
        "proxy.responded",
        refused_by_proxy("http", 403),
    ),
    Scenario(
        "the SOCKS proxy does not accept the password",
        "proxy.login_refused",
        behind_socks(server_login=("alice", "hush"), login="alice:wrong@"),
    ),
    Scenario(
        "the SOCKS proxy does not support IPv6",
        "proxy.refuses",
        behind_socks(reply=8),
    ),
    Scenario(
        "the proxy cannot resolve the host name",
        "proxy.cannot_resolve",
        behind_broken_proxy(
            responding("503 Service Unavailable", X_Squid_Error="ERR_DNS_FAIL 0")
        ),
    ),
    Scenario(
        "the proxy cannot connect to the service",
        "proxy.cannot_connect",
        behind_broken_proxy(responding("502 Bad Gateway")),
    ),
)

_TCP = (
    Scenario("nothing listens on the port", "tcp.refused", closed_port),
    Scenario(
        "localhost is used inside a Docker container",
        "tcp.in_container",
        in_container(".dockerenv"),
    ),
    Scenario("a firewall drops every packet", "tcp.blocked", packets_dropped),
)

NETWORK = _SETTINGS + _PROXIES + _TCP
