"""No trusted TLS connection can be made, or only some programs can make it."""

from tests.probe import broken_servers, setups_tls, tls_servers
from tests.probe.setups import Scenario, behind_tls, entered_as, on_broken_server
from tests.probe.setups_tls import (
    before_3_13,
    behind_intermediate,
    by_authority,
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
        "the certificate is not valid until tomorrow",
        "tls.not_yet_valid",
        setups_tls.without_date,
    ),
    Scenario(
        "the certificate is not valid until tomorrow, also by the server's clock",
        "tls.early_certificate",
        behind_tls(since=DAY, until=9 * DAY),
    ),
    Scenario(
        "a private authority's intermediate certificate is missing",
        "tls.incomplete_chain",
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
    Scenario(
        "the certificate lacks what Python 3.13 requires, and an older one runs",
        "tls.strict_newer",
        before_3_13(behind_tls(changes=setups_tls.UNIDENTIFIED)),
    ),
    Scenario(
        "the certificate lacks what Python 3.13 requires, and Python 3.13 runs",
        "tls.strict",
        since_3_13(behind_tls(changes=setups_tls.UNIDENTIFIED)),
    ),
    Scenario(
        "the store has no root certificate, and Python 3.12 or older runs",
        "tls.partial",
        before_3_13(behind_intermediate(trusted="intermediate")),
    ),
    Scenario(
        "the store has no root certificate, and Python 3.13 accepts that",
        "tls.partial_older",
        since_3_13(behind_intermediate(trusted="intermediate")),
    ),
    Scenario(
        "a private authority issued the certificate of a host on the Internet",
        "tls.private_authority",
        through_proxy("api.example", certified="api.example"),
    ),
    Scenario(
        "the certificate has only a common name",
        "tls.only_common_name",
        behind_tls(changes=setups_tls.ONLY_COMMON_NAME),
    ),
    Scenario(
        "the server sends its certificates in the wrong order",
        "tls.chain_order",
        setups_tls.chain_out_of_order,
    ),
    Scenario(
        "`SSL_CERT_FILE` names a file that does not exist",
        "tls.store_missing",
        with_variable("SSL_CERT_FILE", setups_tls.missing),
    ),
    Scenario(
        "`SSL_CERT_FILE` names something that cannot be read",
        "tls.store_unreadable",
        with_variable("SSL_CERT_FILE", setups_tls.directory),
    ),
    Scenario(
        "`SSL_CERT_FILE` names a file without certificates",
        "tls.store_empty",
        with_variable("SSL_CERT_FILE", setups_tls.without_certificates),
    ),
    Scenario(
        "`SSL_CERT_FILE` names a damaged file",
        "tls.store_broken",
        with_variable("SSL_CERT_FILE", setups_tls.damaged),
    ),
    Scenario(
        "`SSL_CERT_DIR` names a directory without hashes",
        "tls.store_no_hashes",
        with_variable("SSL_CERT_DIR", setups_tls.without_hashes),
    ),
    Scenario(
        "`SSLKEYLOGFILE` names a file that cannot be written",
        "tls.key_log",
        with_variable("SSLKEYLOGFILE", setups_tls.missing),
    ),
    Scenario(
        "an intermediate certificate has expired",
        "tls.chain_dates",
        behind_intermediate(until=-DAY),
    ),
    Scenario(
        "the clock of this machine is wrong, so that the certificate seems invalid",
        "tls.clock",
        setups_tls.clock_off,
    ),
    Scenario(
        "the wildcard of the certificate covers one part of a name only",
        "tls.wildcard",
        through_proxy("a.b.echo.example", certified="*.echo.example"),
    ),
    Scenario(
        "the address has an IP address, and the certificate a host name",
        "tls.ip_address",
        setups_tls.reached_by_address,
    ),
    Scenario(
        "a gateway presents its built-in certificate",
        "tls.default_certificate",
        behind_tls(
            trusted=False,
            self_signed=True,
            host="TRAEFIK DEFAULT CERT",
            changes=setups_tls.ONLY_COMMON_NAME,
        ),
    ),
    Scenario(
        "the server does not send its intermediate certificate",
        "tls.missing_intermediate",
        behind_intermediate(chain=[], issued=setups_tls.ISSUER_ADDRESS),
    ),
    Scenario(
        "the authority may not issue certificates for the host",
        "tls.name_constraints",
        behind_intermediate(changes=setups_tls.NOT_FOR_LOCALHOST),
    ),
    Scenario(
        "the certificate is meant for clients",
        "tls.wrong_purpose",
        behind_tls(changes=setups_tls.FOR_CLIENTS),
    ),
    Scenario(
        "the key of the certificate is too small",
        "tls.weak_certificate",
        behind_tls(new_key=setups_tls.small_key),
    ),
    Scenario(
        "the certificate was issued by one that is no authority",
        "tls.untrusted",
        by_authority(setups_tls.NO_AUTHORITY),
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
        "tls.http2_only",
        on_broken_server(
            tls_servers.send_alert(tls_servers.NO_APPLICATION_PROTOCOL), "https"
        ),
    ),
    Scenario(
        "the server speaks only HTTP/2, without TLS",
        "http.http2_only",
        on_broken_server(tls_servers.speak_http2),
    ),
    Scenario(
        "the server speaks only TLS 1.1",
        "tls.old_version",
        with_settings(setups_tls.only_tls_1_1, new_key=setups_tls.rsa_key),
    ),
    Scenario(
        "the key exchange of the server is too weak",
        "tls.weak_server",
        setups_tls.weak_server,
    ),
    Scenario(
        "the server does not support secure renegotiation",
        "tls.legacy_renegotiation",
        on_broken_server(tls_servers.without_secure_renegotiation, "https"),
    ),
    Scenario(
        "the server sends a huge certificate",
        "tls.broken",
        on_broken_server(tls_servers.huge_certificate, "https"),
    ),
    Scenario(
        "the server accepts none of the offered TLS parameters",
        "tls.refused",
        with_settings(setups_tls.only_a_cipher_that_clients_refuse),
    ),
    Scenario(
        "the server requires a host name, and the address has an IP address",
        "tls.needs_name",
        on_broken_server(
            tls_servers.send_alert(tls_servers.HANDSHAKE_FAILURE), "https"
        ),
    ),
)
