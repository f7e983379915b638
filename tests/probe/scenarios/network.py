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
    behind_untrusted_proxy,
    in_container,
    responding,
    with_environment,
    with_pac_file,
    with_proxy,
)

_SETTINGS = (
    Scenario(
        "`http_proxy` and `HTTP_PROXY` differ",
        "proxies.case_differs",
        with_environment({"http_proxy": "", "HTTP_PROXY": "http://127.0.0.1:1"}),
    ),
    Scenario(
        "an entry of `NO_PROXY` has a scheme",
        "proxies.no_proxy_ignored",
        behind_forward_proxy(no_proxy="http://127.0.0.1"),
    ),
    Scenario(
        "the proxy's password contains an `@`",
        "proxies.password_ambiguous",
        behind_forward_proxy(login="alice:hu@sh"),
    ),
    Scenario(
        "the proxy's password contains a `#`",
        "proxies.password",
        with_proxy("http://alice:12#34@127.0.0.1:3128"),
    ),
    Scenario(
        "the proxy's address is in quotation marks",
        "proxies.quoted",
        with_proxy('"http://127.0.0.1:3128"'),
    ),
    Scenario(
        "the proxy's address has no host", "proxies.no_host", with_proxy("http://:3128")
    ),
    Scenario(
        "the proxy is set to a PAC file",
        "proxies.pac",
        with_proxy("http://wpad.example/proxy.pac"),
    ),
    Scenario(
        "the proxy's address has an impossible port",
        "proxies.bad_port",
        with_proxy("http://127.0.0.1:99999"),
    ),
    Scenario(
        "the proxy's address starts with `socks://`",
        "proxies.unusable",
        with_proxy("socks://alice:hush@127.0.0.1:1080"),
    ),
    Scenario(
        "the direct way is closed, and only the desktop knows a PAC file",
        "proxies.system_needed",
        with_pac_file,
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
        "the configured proxy runs on the host of this container",
        "proxy.in_container",
        in_container(".dockerenv", http_proxy="http://127.0.0.1:1"),
    ),
    Scenario(
        "the proxy accepts the connection and stays silent",
        "proxy.silent",
        behind_broken_proxy(broken_servers.stay_silent),
    ),
    Scenario(
        "the proxy closes the connection",
        "proxy.closed",
        behind_broken_proxy(broken_servers.close_after_request),
    ),
    Scenario(
        "a mail server is set as the proxy",
        "proxy.not_http",
        behind_broken_proxy(broken_servers.greet),
    ),
    Scenario(
        "a web server is set as the proxy",
        "proxy.not_a_proxy",
        behind_broken_proxy(responding("405 Method Not Allowed")),
    ),
    Scenario(
        "an HTTP proxy is set as a SOCKS proxy",
        "proxy.not_socks",
        behind_broken_proxy(responding("400 Bad Request"), "socks5h"),
    ),
    Scenario(
        "`https://` is used for a proxy without TLS",
        "proxy.not_tls",
        behind_broken_proxy(responding("400 Bad Request"), "https"),
    ),
    Scenario(
        "the proxy's own certificate is not trusted",
        "proxy.untrusted",
        behind_untrusted_proxy,
    ),
    Scenario(
        "the proxy requires a login for the tunnel",
        "proxy.login",
        refused_by_proxy("https", 407),
    ),
    Scenario(
        "a proxy that is not configured requires a login",
        "http.proxy_login",
        through_relay(on_response=lambda _: Response(407, "Login", {}, b"")),
    ),
    Scenario(
        "the proxy answers with a login page",
        "proxy.login_page",
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
        "the proxy accepts only a Windows login",
        "proxy.login_scheme",
        behind_broken_proxy(
            responding("407 Login", Proxy_Authenticate="NTLM"), login="alice:hush@"
        ),
    ),
    Scenario(
        "the SOCKS proxy does not support IPv6",
        "proxy.unsupported",
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
    Scenario(
        "the proxy responds with its own error page",
        "proxy.error_page",
        behind_broken_proxy(
            responding(
                "403 Forbidden",
                corruptions.PAGE % b"Access denied",
                Via="1.1 office (squid/6.6)",
            )
        ),
    ),
    Scenario(
        "the proxy refuses the tunnel", "proxy.refuses", refused_by_proxy("https", 403)
    ),
)

_TCP = (
    Scenario("nothing listens on the port", "tcp.refused", closed_port),
    Scenario(
        "localhost is used inside a Docker container",
        "tcp.in_docker",
        in_container(".dockerenv"),
    ),
    Scenario(
        "localhost is used inside a Podman container",
        "tcp.in_podman",
        in_container("run/.containerenv"),
    ),
    Scenario(
        "localhost is used inside a pod of Kubernetes",
        "tcp.in_kubernetes",
        in_container(KUBERNETES_SERVICE_HOST="10.0.0.1"),
    ),
    Scenario(
        "localhost is used inside another container",
        "tcp.in_container",
        in_container("proc/1/cgroup", "0::/lxc/payload\n"),
    ),
    Scenario("a firewall drops every packet", "tcp.timeout", packets_dropped),
    Scenario(
        "the service is reachable only over IPv6",
        "tcp.v6_only",
        through_relay(host="::1"),
    ),
)

NETWORK = _SETTINGS + _PROXIES + _TCP
