"""The scenarios: the ways a connection can fail, each with a real broken server.

A scenario has a description, the id of the diagnosis that the probe must report, and a
context manager that sets it up. The table in docs/cli.md is generated from this list.
"""

import html
import re
import unicodedata

from tests.probe import broken_servers, corruptions
from tests.probe.setups import (
    Scenario,
    behind_tls,
    cabinet_showing,
    changing_text,
    closed_port,
    closed_proxy,
    entered_as,
    on_broken_server,
    packets_dropped,
    refused_by_proxy,
    responding,
    revoked_key,
    socks_proxy,
    through_relay,
    with_key,
)
from tests.support.authority import DAY

SCENARIOS = (
    # The address and the key as entered.
    Scenario(
        "`/v1` is missing from the address",
        "address.no_version",
        entered_as(lambda url: url.removesuffix("/v1")),
    ),
    Scenario(
        "the address contains `/v1` twice",
        "address.doubled",
        entered_as(lambda u: f"{u}/v1"),
    ),
    Scenario(
        "the address includes an endpoint path",
        "address.endpoint",
        entered_as(lambda url: f"{url}/chat/completions"),
    ),
    Scenario(
        "the address has spaces around it",
        "address.spaces",
        entered_as(lambda url: f" {url}\n"),
    ),
    Scenario(
        "the address has no scheme",
        "address.no_scheme",
        entered_as(lambda url: url.removeprefix("http://")),
    ),
    Scenario(
        "the address contains a URL parameter",
        "address.parameter",
        entered_as(lambda url: f"{url}?a=b"),
    ),
    Scenario(
        "the address ends with a slash",
        "address.trailing_slash",
        entered_as(lambda url: f"{url}/"),
    ),
    Scenario(
        "the address has an extra slash in its path",
        "address.slashes",
        entered_as(lambda url: url.replace("/v1", "//v1")),
    ),
    Scenario(
        "the address contains a password",
        "address.login",
        entered_as(lambda url: url.replace("//", "//alice:hush@")),
    ),
    Scenario(
        "the address is not an HTTP URL",
        "address.scheme",
        entered_as(lambda url: url.replace("http", "ftp")),
    ),
    Scenario(
        "the address has an invalid port",
        "address.host",
        entered_as(lambda url: "http://127.0.0.1:99999/v1"),
    ),
    Scenario("no key is given", "key.none", with_key(lambda key: "")),
    Scenario("the key contains a typo", "key.typo", with_key(corruptions.mistype)),
    Scenario(
        "the key was copied incompletely", "key.cut", with_key(lambda key: key[:-3])
    ),
    Scenario(
        "the key has a newline after it",
        "key.spaces",
        with_key(lambda key: f"{key}\n"),
    ),
    Scenario(
        "the key has quotation marks around it",
        "key.quoted",
        with_key(lambda key: f'"{key}"'),
    ),
    Scenario(
        "the key has the word Bearer before it",
        "key.bearer",
        with_key(lambda key: f"Bearer {key}"),
    ),
    Scenario("the key was pasted twice", "key.long", with_key(lambda key: key * 2)),
    Scenario(
        "the key contains a letter of another alphabet",
        "key.characters",
        with_key(lambda key: key[:-1] + "А"),
    ),
    Scenario(
        "the shortened form of the key was copied",
        "key.mask",
        with_key(lambda key: f"sk-echo-…{key[-4:]}"),
    ),
    Scenario(
        "the key belongs to another service",
        "key.prefix",
        with_key(lambda key: "sk-proj-" + "x" * 40),
    ),
    Scenario("the key is revoked", "key.refused", revoked_key),
    # The network.
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
    # TLS.
    Scenario(
        "the certificate is for another host name",
        "tls.wrong_name",
        behind_tls(host="other.example"),
    ),
    Scenario(
        "the certificate is self-signed",
        "tls.self_signed",
        behind_tls(trusted=False, self_signed=True),
    ),
    Scenario(
        "the certificate has expired",
        "tls.expired",
        behind_tls(since=-9 * DAY, until=-DAY),
    ),
    Scenario(
        "the certificate is not valid until tomorrow",
        "tls.not_yet_valid",
        behind_tls(since=DAY, until=9 * DAY),
    ),
    Scenario(
        "the certificate expires in three days",
        "tls.expires_soon",
        behind_tls(until=3 * DAY),
    ),
    Scenario(
        "the certificate was issued by an unknown authority",
        "tls.unknown_issuer",
        behind_tls(trusted=False),
    ),
    Scenario(
        "a proxy intercepts TLS with its own certificate",
        "tls.intercepted",
        behind_tls(trusted=False, issuer="Zscaler Intermediate Root CA"),
    ),
    Scenario(
        "a proxy intercepts TLS, and this machine trusts it",
        "tls.intercepted_trusted",
        behind_tls(issuer="Zscaler Trusted Root CA"),
    ),
    Scenario(
        "`https://` is used for a plain HTTP port",
        "tls.plain_http",
        entered_as(lambda url: url.replace("http://", "https://")),
    ),
    Scenario(
        "`http://` is used for a TLS port", "http.tls_port", behind_tls(scheme="http")
    ),
    Scenario(
        "`https://` is used for a port without TLS",
        "tls.not_tls",
        on_broken_server(broken_servers.greet, "https"),
    ),
    Scenario(
        "the connection is closed during the TLS handshake",
        "tls.cut",
        on_broken_server(broken_servers.close_after_request, "https"),
    ),
    Scenario(
        "the TLS handshake gets no response",
        "tls.silent",
        on_broken_server(broken_servers.stay_silent, "https"),
    ),
    # HTTP.
    Scenario(
        "the connection is closed before a response",
        "http.cut",
        on_broken_server(broken_servers.close_after_request),
    ),
    Scenario(
        "the connection is closed in the middle of the response",
        "http.cut_short",
        on_broken_server(broken_servers.send_half),
    ),
    Scenario(
        "the response stops in the middle",
        "http.stalled",
        on_broken_server(broken_servers.stall_half_way),
    ),
    Scenario(
        "no response arrives",
        "http.silent",
        on_broken_server(broken_servers.stay_silent),
    ),
    Scenario(
        "the port does not speak HTTP",
        "http.not_http",
        on_broken_server(broken_servers.greet),
    ),
    Scenario(
        "a web site responds",
        "http.html",
        responding(200, corruptions.PAGE % b"Welcome", Content_Type="text/html"),
    ),
    Scenario(
        "a captive portal responds",
        "http.captive_portal",
        responding(200, corruptions.PAGE % b"Hotel Wi-Fi", Content_Type="text/html"),
    ),
    Scenario(
        "a proxy responds with its own page",
        "http.proxy_page",
        responding(
            403, corruptions.PAGE % b"Access denied", Via="1.1 office (squid/6.6)"
        ),
    ),
    Scenario(
        "a gateway cannot reach the service",
        "http.gateway",
        responding(
            502, corruptions.PAGE % b"502 Bad Gateway", Content_Type="text/html"
        ),
    ),
    Scenario(
        "another API responds",
        "http.other_api",
        responding(404, b'{"detail":"Not Found"}', Content_Type="application/json"),
    ),
    Scenario(
        "something else responds", "http.other", responding(200, b"It works, somehow.")
    ),
    Scenario(
        "the response is a redirect to another address",
        "http.redirect",
        responding(307, b"", Location="http://127.0.0.1:1/v2/models"),
    ),
    Scenario(
        "the response is a redirect to `https://`",
        "http.redirect_https",
        responding(301, b"", Location="https://127.0.0.1/v1/models"),
    ),
    Scenario(
        "a proxy compresses responses",
        "http.compressed",
        through_relay(on_response=corruptions.compress_response),
    ),
    Scenario(
        "a proxy marks responses as compressed but does not compress them",
        "http.garbled",
        through_relay(on_response=corruptions.mark_as_compressed),
    ),
    Scenario(
        "a proxy removes `Authorization`",
        "key.stripped",
        through_relay(corruptions.remove_authorization),
    ),
    Scenario(
        "a proxy requires its own login",
        "key.other_refusal",
        through_relay(on_response=corruptions.require_login),
    ),
    Scenario(
        "a proxy adds a URL parameter",
        "http.parameter_added",
        through_relay(corruptions.add_parameter),
    ),
    Scenario(
        "a proxy removes URL parameters",
        "parameter.ignored",
        through_relay(corruptions.remove_parameters),
    ),
    Scenario(
        "a gateway rewrites the path",
        "http.path_changed",
        through_relay(corruptions.rewrite_path),
    ),
    Scenario(
        "a gateway adds models to the list",
        "models.changed",
        through_relay(on_response=corruptions.add_model),
    ),
    Scenario(
        "the service limits the rate",
        "http.rate_limited",
        through_relay(
            on_response=corruptions.refuse(429, "rate_limited", Retry_After="7")
        ),
    ),
    Scenario(
        "the service cannot reach its database",
        "http.unavailable",
        through_relay(
            on_response=corruptions.refuse(503, "unavailable", Retry_After="1")
        ),
    ),
    Scenario(
        "a gateway adds a field to requests",
        "http.refused",
        through_relay(corruptions.add_field),
    ),
    Scenario(
        "a proxy shortens texts that are too long",
        "limit.ignored",
        through_relay(corruptions.shorten_content(8192)),
    ),
    Scenario(
        "a proxy has a lower limit than the service",
        "limit.refused_elsewhere",
        through_relay(on_response=corruptions.refuse_large_content),
    ),
    Scenario(
        "a proxy closes every connection",
        "reuse.closed",
        through_relay(on_response=corruptions.close_connection),
    ),
    Scenario(
        "a proxy delays responses",
        "latency.slow",
        through_relay(on_response=corruptions.delay_completions),
    ),
    Scenario(
        "the cabinet shows a different address",
        "cabinet.differs",
        cabinet_showing(base_url="https://new.example/v1", since=None, previous=None),
    ),
    Scenario(
        "the given cabinet address is not a cabinet",
        "cabinet.unreachable",
        cabinet_showing(404),
    ),
    Scenario(
        "the service has moved",
        "cabinet.moved",
        cabinet_showing(base_url="https://new.example/v1", since=None, previous="this"),
    ),
    # The echo.
    Scenario(
        "a proxy changes the character encoding",
        "echo.charset",
        through_relay(on_response=corruptions.recode_as_cp1251),
    ),
    Scenario(
        "a proxy normalizes text to NFC",
        "echo.normalised",
        changing_text(lambda text: unicodedata.normalize("NFC", text)),
    ),
    Scenario(
        "a proxy converts LF to CR LF",
        "echo.line_ends",
        changing_text(lambda text: re.sub("\r?\n", "\r\n", text)),
    ),
    Scenario(
        "a proxy cuts off texts at 4096 bytes",
        "echo.truncated",
        through_relay(corruptions.shorten_content(4096)),
    ),
    Scenario(
        "a proxy compresses requests",
        "echo.media_type",
        through_relay(corruptions.compress_request),
    ),
    Scenario(
        "a proxy replaces quotation marks with typographic ones",
        "echo.smart_quotes",
        changing_text(corruptions.replace_quotes),
    ),
    Scenario("a proxy trims whitespace", "echo.trimmed", changing_text(str.strip)),
    Scenario(
        "a proxy removes control characters",
        "echo.controls",
        changing_text(corruptions.remove_controls),
    ),
    Scenario(
        "a proxy escapes text for HTML", "echo.escaped", changing_text(html.escape)
    ),
    Scenario(
        "a proxy changes words",
        "echo.changed",
        changing_text(lambda text: text.replace("copy", "paste")),
    ),
    Scenario(
        "a cache or recording responds",
        "echo.replayed",
        through_relay(on_response=corruptions.repeat_id),
    ),
    Scenario(
        "a gateway changes the structure of the response",
        "echo.shape",
        through_relay(
            on_response=lambda response: response.with_body(
                response.body.replace(b'"choices"', b'"outputs"')
            )
        ),
    ),
)
