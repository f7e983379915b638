"""No trusted TLS connection can be made, or only some programs can make it."""

from tests.probe import broken_servers, setups_tls, tls_servers
from tests.probe.setups import Scenario, behind_tls, entered_as, on_broken_server
from tests.probe.setups_tls import (
    behind_intermediate,
    since_3_13,
    through_proxy,
    with_settings,
    with_variable,
)
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
        "a private authority's intermediate certificate is missing",
        "tls.unknown_issuer",
        behind_intermediate(chain=[]),
    ),
    Scenario(
        "the machine has no trusted certificates",
        "tls.no_store",
        setups_tls.without_stores,
    ),
    Scenario(
        "the certificate expires in three days",
        "tls.expires_soon",
        behind_tls(until=3 * DAY),
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
        "the connection is closed during the TLS handshake",
        "tls.cut",
        on_broken_server(broken_servers.close_after_request, "https"),
    ),
    Scenario(
        "the certificate lacks what Python 3.13 requires, and Python 3.13 runs",
        "tls.strict",
        since_3_13(behind_tls(changes=setups_tls.UNIDENTIFIED)),
    ),
    Scenario(
        "a private authority issued the certificate of a host on the Internet",
        "tls.private_authority",
        through_proxy("api.example", certified="api.example"),
    ),
    Scenario(
        "`SSL_CERT_FILE` names a file that does not exist",
        "tls.store",
        with_variable("SSL_CERT_FILE", setups_tls.missing),
    ),
    Scenario(
        "the clock of this machine is wrong, so that the certificate seems invalid",
        "tls.clock",
        setups_tls.clock_off,
    ),
    Scenario(
        "the server does not send its intermediate certificate",
        "tls.missing_intermediate",
        behind_intermediate(chain=[], issued=setups_tls.ISSUER_ADDRESS),
    ),
    Scenario(
        "the authority may not issue certificates for the host",
        "tls.untrusted",
        behind_intermediate(changes=setups_tls.NOT_FOR_LOCALHOST),
    ),
    Scenario(
        "the server requires a client certificate",
        "tls.client_certificate",
        with_settings(setups_tls.require_client_certificate),
    ),
    Scenario(
        "the server does not know the host name",
        "tls.unknown_name",
        with_settings(setups_tls.know_no_name),
    ),
    Scenario(
        "a filter cuts handshakes that name the host",
        "tls.filtered_name",
        setups_tls.filtered_name,
    ),
    Scenario(
        "the server speaks only HTTP/2",
        "tls.refused",
        on_broken_server(
            tls_servers.send_alert(tls_servers.NO_APPLICATION_PROTOCOL), "https"
        ),
    ),
    Scenario(
        "the response has too many headers",
        "http.malformed",
        on_broken_server(broken_servers.send_many_headers),
    ),
    Scenario(
        "the server speaks only TLS 1.1",
        "tls.old_version",
        with_settings(setups_tls.only_tls_1_1, new_key=setups_tls.rsa_key),
    ),
)
