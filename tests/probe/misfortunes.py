"""The misfortunes: every way in which a connection goes wrong, as a real server.

Each is a name, the id by which the probe must tell it from all others, and a context
that makes it happen. docs/cli.md has a table made from this list.
"""

import html
import re
import unicodedata

from tests.probe import mischief, sockets
from tests.probe.situations import (
    Misfortune,
    answering,
    between,
    black_hole,
    cabinet_saying,
    changing,
    closed_port,
    closed_proxy,
    encrypted,
    on_a_socket,
    revoked_key,
    socks,
    through_proxy,
    typed,
    with_key,
)
from tests.support.authority import DAY

MISFORTUNES = (
    # The address and the key, as people type them.
    Misfortune(
        "`/v1` is missing from the address",
        "address.no_version",
        typed(lambda url: url.removesuffix("/v1")),
    ),
    Misfortune("`/v1` stands twice", "address.doubled", typed(lambda u: f"{u}/v1")),
    Misfortune(
        "the address has an endpoint at its end",
        "address.endpoint",
        typed(lambda url: f"{url}/chat/completions"),
    ),
    Misfortune(
        "a space comes along with the address",
        "address.spaces",
        typed(lambda url: f" {url}\n"),
    ),
    Misfortune(
        "the address has no scheme",
        "address.no_scheme",
        typed(lambda url: url.removeprefix("http://")),
    ),
    Misfortune(
        "the address has a URL parameter",
        "address.parameter",
        typed(lambda url: f"{url}?a=b"),
    ),
    Misfortune(
        "the address ends in a slash",
        "address.trailing_slash",
        typed(lambda url: f"{url}/"),
    ),
    Misfortune(
        "the address has a slash too many inside",
        "address.slashes",
        typed(lambda url: url.replace("/v1", "//v1")),
    ),
    Misfortune(
        "the address has a password in it",
        "address.login",
        typed(lambda url: url.replace("//", "//alice:hush@")),
    ),
    Misfortune(
        "the address is not a web address",
        "address.scheme",
        typed(lambda url: url.replace("http", "ftp")),
    ),
    Misfortune(
        "the address has an impossible port",
        "address.host",
        typed(lambda url: "http://127.0.0.1:99999/v1"),
    ),
    Misfortune("there is no key", "key.none", with_key(lambda key: "")),
    Misfortune("a typo in the key", "key.typo", with_key(mischief.mistyped)),
    Misfortune(
        "the key was not copied whole", "key.cut", with_key(lambda key: key[:-3])
    ),
    Misfortune(
        "a line end comes along with the key",
        "key.spaces",
        with_key(lambda key: f"{key}\n"),
    ),
    Misfortune(
        "quotation marks come along with the key",
        "key.quoted",
        with_key(lambda key: f'"{key}"'),
    ),
    Misfortune(
        "the word Bearer comes along with the key",
        "key.bearer",
        with_key(lambda key: f"Bearer {key}"),
    ),
    Misfortune("the key was pasted twice", "key.long", with_key(lambda key: key * 2)),
    Misfortune(
        "a letter of another alphabet is in the key",
        "key.characters",
        with_key(lambda key: key[:-1] + "А"),
    ),
    Misfortune(
        "the shortened form of the key was copied",
        "key.mask",
        with_key(lambda key: f"sk-echo-…{key[-4:]}"),
    ),
    Misfortune(
        "a key of another service",
        "key.prefix",
        with_key(lambda key: "sk-proj-" + "x" * 40),
    ),
    Misfortune("a revoked key", "key.refused", revoked_key),
    # The network.
    Misfortune("nothing listens on the port", "tcp.refused", closed_port),
    Misfortune("a firewall drops every packet", "tcp.timeout", black_hole),
    Misfortune("IPv6 only", "tcp.v6_only", between(host="::1")),
    Misfortune("the proxy that is set is away", "proxy.unreachable", closed_proxy),
    Misfortune("the proxy that is set is a SOCKS proxy", "proxies.unusable", socks),
    Misfortune(
        "the proxy refuses the tunnel", "proxy.refuses", through_proxy("https", 403)
    ),
    Misfortune(
        "the proxy wants a login for the tunnel",
        "proxy.login",
        through_proxy("https", 407),
    ),
    Misfortune(
        "the proxy wants a login", "http.proxy_login", through_proxy("http", 407)
    ),
    # TLS.
    Misfortune(
        "a certificate for another name",
        "tls.wrong_name",
        encrypted(host="other.example"),
    ),
    Misfortune(
        "a self-signed certificate",
        "tls.self_signed",
        encrypted(trusted=False, self_signed=True),
    ),
    Misfortune(
        "an expired certificate", "tls.expired", encrypted(since=-9 * DAY, until=-DAY)
    ),
    Misfortune(
        "a certificate of tomorrow",
        "tls.not_yet_valid",
        encrypted(since=DAY, until=9 * DAY),
    ),
    Misfortune(
        "a certificate that expires in three days",
        "tls.expires_soon",
        encrypted(until=3 * DAY),
    ),
    Misfortune(
        "a certificate by an unknown authority",
        "tls.unknown_issuer",
        encrypted(trusted=False),
    ),
    Misfortune(
        "a proxy that reads along, with a certificate of its own",
        "tls.intercepted",
        encrypted(trusted=False, issuer="Zscaler Intermediate Root CA"),
    ),
    Misfortune(
        "the same, where this machine trusts it",
        "tls.intercepted_trusted",
        encrypted(issuer="Zscaler Trusted Root CA"),
    ),
    Misfortune(
        "`https://` to a port that speaks plain HTTP",
        "tls.plain_http",
        typed(lambda url: url.replace("http://", "https://")),
    ),
    Misfortune(
        "`http://` to a port that speaks TLS", "http.tls_port", encrypted(scheme="http")
    ),
    Misfortune(
        "`https://` to a port that speaks something else",
        "tls.not_tls",
        on_a_socket(sockets.hello, "https"),
    ),
    Misfortune(
        "the connection is cut during the handshake",
        "tls.cut",
        on_a_socket(sockets.cut, "https"),
    ),
    Misfortune(
        "nothing comes during the handshake",
        "tls.silent",
        on_a_socket(sockets.silence, "https"),
    ),
    # HTTP.
    Misfortune("the connection is cut", "http.cut", on_a_socket(sockets.cut)),
    Misfortune(
        "the answer is cut off in the middle",
        "http.cut_short",
        on_a_socket(sockets.half_an_answer),
    ),
    Misfortune(
        "the answer gets stuck in the middle",
        "http.stalled",
        on_a_socket(sockets.stuck_answer),
    ),
    Misfortune("no answer comes", "http.silent", on_a_socket(sockets.silence)),
    Misfortune(
        "the port does not speak HTTP", "http.not_http", on_a_socket(sockets.hello)
    ),
    Misfortune(
        "a web site answers",
        "http.html",
        answering(200, mischief.PAGE % b"Welcome", Content_Type="text/html"),
    ),
    Misfortune(
        "a captive portal answers",
        "http.captive_portal",
        answering(200, mischief.PAGE % b"Hotel Wi-Fi", Content_Type="text/html"),
    ),
    Misfortune(
        "a proxy answers with its own page",
        "http.proxy_page",
        answering(403, mischief.PAGE % b"Access denied", Via="1.1 office (squid/6.6)"),
    ),
    Misfortune(
        "a gateway does not reach the service",
        "http.gateway",
        answering(502, mischief.PAGE % b"502 Bad Gateway", Content_Type="text/html"),
    ),
    Misfortune(
        "another API answers",
        "http.other_api",
        answering(404, b'{"detail":"Not Found"}', Content_Type="application/json"),
    ),
    Misfortune(
        "something else answers", "http.other", answering(200, b"It works, somehow.")
    ),
    Misfortune(
        "a redirect to another address",
        "http.redirect",
        answering(307, b"", Location="http://127.0.0.1:1/v2/models"),
    ),
    Misfortune(
        "a redirect to `https://`",
        "http.redirect_https",
        answering(301, b"", Location="https://127.0.0.1/v1/models"),
    ),
    Misfortune(
        "a proxy compresses answers",
        "http.compressed",
        between(on_answer=mischief.compressed),
    ),
    Misfortune(
        "a proxy says that it compresses, and does not",
        "http.garbled",
        between(on_answer=mischief.said_to_be_compressed),
    ),
    Misfortune(
        "a proxy removes `Authorization`",
        "key.stripped",
        between(mischief.without_authorization),
    ),
    Misfortune(
        "a proxy wants a login of its own",
        "key.other_refusal",
        between(on_answer=mischief.asking_for_a_login),
    ),
    Misfortune(
        "a proxy adds a URL parameter",
        "http.parameter_added",
        between(mischief.with_parameter),
    ),
    Misfortune(
        "a proxy removes URL parameters",
        "parameter.ignored",
        between(mischief.without_parameter),
    ),
    Misfortune(
        "a gateway rewrites the path", "http.path_changed", between(mischief.rewritten)
    ),
    Misfortune(
        "a gateway adds models to the list",
        "models.changed",
        between(on_answer=mischief.with_more_models),
    ),
    Misfortune(
        "the service limits the rate",
        "http.rate_limited",
        between(on_answer=mischief.refusing(429, "rate_limited", Retry_After="7")),
    ),
    Misfortune(
        "the service has lost its database",
        "http.unavailable",
        between(on_answer=mischief.refusing(503, "unavailable", Retry_After="1")),
    ),
    Misfortune(
        "a gateway adds a field to requests",
        "http.refused",
        between(mischief.with_field),
    ),
    Misfortune(
        "a proxy shortens what is too long",
        "limit.ignored",
        between(mischief.shortened(8192)),
    ),
    Misfortune(
        "a proxy has a lower limit than the service",
        "limit.refused_elsewhere",
        between(on_answer=mischief.too_large_for_the_proxy),
    ),
    Misfortune(
        "a proxy closes every connection",
        "reuse.closed",
        between(on_answer=mischief.closing),
    ),
    Misfortune(
        "a proxy delays the answers", "latency.slow", between(on_answer=mischief.late)
    ),
    Misfortune(
        "the cabinet shows another address",
        "cabinet.differs",
        cabinet_saying(base_url="https://new.example/v1", since=None, previous=None),
    ),
    Misfortune(
        "the cabinet that is named is none", "cabinet.unreachable", cabinet_saying(404)
    ),
    Misfortune(
        "the service has moved",
        "cabinet.moved",
        cabinet_saying(base_url="https://new.example/v1", since=None, previous="this"),
    ),
    # The echo.
    Misfortune(
        "a proxy changes the character set",
        "echo.charset",
        between(on_answer=mischief.in_another_charset),
    ),
    Misfortune(
        "a proxy normalises to NFC",
        "echo.normalised",
        changing(lambda text: unicodedata.normalize("NFC", text)),
    ),
    Misfortune(
        "a proxy turns LF into CR LF",
        "echo.line_ends",
        changing(lambda text: re.sub("\r?\n", "\r\n", text)),
    ),
    Misfortune(
        "a proxy cuts texts off at 4096 bytes",
        "echo.truncated",
        between(mischief.shortened(4096)),
    ),
    Misfortune(
        "a proxy compresses requests",
        "echo.media_type",
        between(mischief.compressed_request),
    ),
    Misfortune(
        "a proxy makes quotation marks mischief.typographic",
        "echo.smart_quotes",
        changing(mischief.typographic),
    ),
    Misfortune("a proxy trims texts", "echo.trimmed", changing(str.strip)),
    Misfortune(
        "a proxy removes control characters",
        "echo.controls",
        changing(mischief.without_controls),
    ),
    Misfortune("a proxy escapes for HTML", "echo.escaped", changing(html.escape)),
    Misfortune(
        "a proxy changes words",
        "echo.changed",
        changing(lambda text: text.replace("copy", "paste")),
    ),
    Misfortune(
        "a recording answers",
        "echo.replayed",
        between(on_answer=mischief.always_the_same_id),
    ),
    Misfortune(
        "a gateway answers in another shape",
        "echo.shape",
        between(
            on_answer=lambda answer: answer.saying(
                answer.body.replace(b'"choices"', b'"outputs"')
            )
        ),
    ),
)
