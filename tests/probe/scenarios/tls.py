"""No trusted TLS connection can be made."""

from tests.probe import broken_servers
from tests.probe.setups import Scenario, behind_tls, entered_as, on_broken_server
from tests.support.authority import DAY

TLS = (
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
)
