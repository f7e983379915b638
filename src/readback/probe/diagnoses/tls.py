"""Diagnoses of TLS: the handshake, the certificate, the stores of this machine."""

from readback.probe.diagnoses.templates import (
    entered,
    machine,
    network,
    ok,
    proxy,
    service,
    skip,
)

TLS = {
    "tls.none": skip("The address uses plain HTTP, so there is no certificate."),
    "tls.ok": ok("{version}; certificate for {subject}, by {issuer}, until {until}."),
    "tls.ok_private": ok("""
        {version}; certificate for {subject}, until {until}. A private authority issued
        it: {issuer}."""),
    "tls.client_certificate": entered.fail("""
        The server requires a client certificate.
        → A key alone is not enough. Ask the operator of the service for a certificate
        and configure it in your client, or ask for an address that does not require
        one."""),
    "tls.unknown_name": entered.fail("""
        The server does not know the name {host} and refuses the TLS handshake
        ({reason}).
        → Check the host name. If it is right, ask the operator of the service to
        configure it in the server or gateway."""),
    "tls.needs_name": entered.fail("""
        The server refuses the TLS handshake because the address contains an IP address
        instead of a host name ({reason}).
        → Use the host name in the address."""),
    "tls.filtered_name": network.fail("""
        Something blocks TLS handshakes for the host name {host}; without the name, they
        succeed. This is a filter by host name, in your network or at your Internet
        provider.
        → Ask your network's administrator to allow {host}, or try another network."""),
    "tls.http2_only": service.fail("""
        The server supports only HTTP/2 and refuses HTTP/1.1 in the TLS handshake.
        → Many clients, such as requests and the openai package, use only HTTP/1.1 by
        default. Tell the operator to allow HTTP/1.1."""),
    "tls.old_version": service.fail("""
        The server supports only old versions of TLS, which this machine refuses
        ({reason}).
        → Tell the operator to enable TLS 1.2 or newer."""),
    "tls.weak_server": service.fail("""
        The server uses a key or signature that is too weak for this machine's OpenSSL:
        {reason}.
        → Tell the operator to use stronger parameters."""),
    "tls.legacy_renegotiation": service.fail("""
        The server, or a proxy in front of it, does not support secure renegotiation,
        which OpenSSL 3 requires.
        → Tell the operator to update it."""),
    "tls.broken": service.fail("""
        The server started a TLS handshake but sent invalid data: {reason}.
        → Something changes the data on the way, or the server is faulty. Try another
        network. If it fails there, too, tell the operator."""),
    "tls.plain_http": entered.fail("""
        Port {port} serves plain HTTP, but the address starts with https://.
        → Use http://, or the port for https://."""),
    "tls.not_tls": entered.fail("""
        Port {port} does not support TLS.
        → Compare the port with the address you were given."""),
    "tls.cut": network.fail("""
        The connection was closed during the TLS handshake.
        → Try another network, such as your phone's. If it works there, ask your
        network's administrator to allow this host name; if not, tell the operator of
        the service that the server may have no certificate for it."""),
    "tls.silent": network.fail("""
        The connection opened, but the TLS handshake got no response within {timeout} s.
        → Try without the VPN, or another network, such as your phone's. If it works
        there, ask your network's administrator whether a firewall drops the
        packets."""),
    "tls.refused": service.fail("""
        Client and server could not agree on TLS parameters: {reason}.
        → One side is too old or too strict. Update Python and OpenSSL on this machine.
        If that does not help, tell the operator."""),
}

_NOT_RFC_5280 = (
    "Tell whoever runs the certificate authority {issuer} that the certificates it "
    "issues, or its own certificate, do not meet RFC 5280."
)

CERTIFICATES = {
    "tls.expires_soon": service.warn("""
        The certificate expires in {left}.
        → Tell the operator to renew it."""),
    "tls.intercepted_trusted": proxy.warn("""
        {issuer} decrypts the traffic: it presents its own certificate, which this
        machine trusts.
        → Programs with their own certificate store refuse it. For those, ask your
        network's administrator for the file with {issuer}'s root certificate, and set
        SSL_CERT_FILE, REQUESTS_CA_BUNDLE and NODE_EXTRA_CA_CERTS to it."""),
    "tls.private_authority": proxy.warn("""
        A private authority issued the certificate of a host on the Internet: {issuer}.
        It belongs to the operator of the service, or to something that decrypts the
        traffic.
        → Ask the operator whether {issuer} is theirs. If it is not, something in your
        network can read the traffic, including the key: ask your network's
        administrator."""),
    "tls.strict_newer": service.warn(f"""
        Programs on Python 3.13 and newer refuse the certificate: {{reason}}. This
        Python, curl 7.88 and Node 20 accept it.
        → {_NOT_RFC_5280}"""),
    "tls.strict": service.fail(f"""
        Python 3.13 and newer, including the one that runs here, refuse the certificate:
        {{reason}}. Older Pythons, curl 7.88 and Node 20 accept it.
        → {_NOT_RFC_5280} Until then, use Python 3.12, or remove ssl.VERIFY_X509_STRICT
        from the verify_flags of the program's SSL context."""),
    "tls.only_common_name": service.warn("""
        The certificate has the host name only in its common name. This program, httpx
        0.28 and curl 7.88 accept that; requests 2.34 refuses it.
        → Tell the operator to add the name as a subject alternative name."""),
    "tls.chain_order": service.warn("""
        The server sends its certificates in the wrong order. Most programs accept that;
        strict or old ones do not.
        → Tell the operator: each certificate must come after the one that it
        issued."""),
    "tls.expired": service.fail("""
        The certificate expired on {until}.
        → Check the clock of this machine. If it is right, tell the operator to renew
        the certificate."""),
    "tls.not_yet_valid": machine.fail("""
        The certificate is not valid until {since}.
        → Check the clock of this machine."""),
    "tls.early_certificate": service.fail("""
        The certificate is not valid until {since}, and by the clocks of this machine
        and of the server, that time has not come yet.
        → Tell the operator: the certificate was installed too early, or created on a
        machine with a wrong clock."""),
    "tls.chain_dates": service.fail("""
        The certificate of the authority {name} is not valid now ({period}); the
        server's own certificate is.
        → Tell the operator to install a current intermediate certificate. If the server
        does not send that certificate, update the certificates of this machine."""),
    "tls.clock": machine.fail("""
        The clock of this machine is wrong, so the certificate seems invalid: it is
        {here} UTC by this machine's clock, but {there} UTC by the server's.
        → Set the clock, or turn on automatic time synchronization."""),
    "tls.wrong_name": entered.fail("""
        The certificate is for {subject}, not for {host}.
        → Use a host name that the certificate covers. If yours is right, tell the
        operator of the service that the certificate does not cover it."""),
    "tls.wildcard": service.fail("""
        The certificate is for {subject}. It does not cover {host}, because * matches
        only one part of a name.
        → Tell the operator to add the name to the certificate, or use a host name that
        it covers."""),
    "tls.ip_address": entered.fail("""
        The certificate is for {subject}, not for the IP address {host}.
        → Use the host name in the address."""),
    "tls.default_certificate": service.fail("""
        A gateway presents its built-in certificate, {subject}: it has none for {host}.
        → Check the host name. If it is right, tell the operator that the gateway has no
        certificate for it."""),
    "tls.self_signed": service.fail("""
        The certificate is self-signed, so it does not prove who the server is.
        → Tell the operator to install a certificate from a certificate authority. If
        this is your own test server, set SSL_CERT_FILE to its certificate."""),
    "tls.intercepted": proxy.fail("""
        {issuer} intercepts the connection and presents its own certificate.
        → Ask your network's administrator for the file with the root certificate of
        {issuer}, and set SSL_CERT_FILE to it; or ask them to exclude the address from
        TLS inspection."""),
    "tls.missing_intermediate": service.fail("""
        The server does not send the intermediate certificate of {issuer}, which issued
        its own. Browsers often have it; programs do not.
        → Tell the operator to configure the full certificate chain. If {issuer} is a
        private authority, also set SSL_CERT_FILE to its root certificate."""),
    "tls.incomplete_chain": service.fail("""
        The server sends only its own certificate, issued by {issuer}, and the store
        that SSL_CERT_FILE or SSL_CERT_DIR names does not contain {issuer}.
        → Ask the operator whether {issuer} is an intermediate or a root authority. If
        it is an intermediate one, the server must send its certificate, too; if it is a
        root, add its certificate to the store."""),
    "tls.unknown_issuer": service.fail("""
        The certificate was issued by {issuer}, which this machine does not trust.
        → Ask the operator whether {issuer} is their own certificate authority. If it
        is, set SSL_CERT_FILE to its root certificate. If it is not, something between
        you and the service decrypts the traffic: ask your network's administrator."""),
    "tls.name_constraints": service.fail("""
        The authority {issuer} is not allowed to issue certificates for {host}:
        {reason}.
        → Tell the operator to get the certificate from another authority."""),
    "tls.wrong_purpose": service.fail("""
        The certificate is not meant for servers.
        → Tell the operator: its extended key usage must include server
        authentication."""),
    "tls.weak_certificate": service.fail("""
        The certificate is too weak for this machine's OpenSSL: {reason}.
        → Tell the operator to use a key of 2048 bits or more and a SHA-256
        signature."""),
    "tls.untrusted": service.fail("""
        The certificate cannot be trusted: {reason}.
        → Send this line to the operator."""),
}

_INSTALL_CERTIFICATES = (
    "On Linux, install the package ca-certificates. With Python from python.org on "
    "macOS, run “Install Certificates.command” in Python's folder."
)
_GET_ROOT = (
    "Ask whoever gave you the file for the root certificate above it, and add that to "
    "the file."
)
_TRUST_NOBODY = "Programs that use it trust no server, or stop with an error."

STORES = {
    "tls.only_system": machine.warn("""
        This machine trusts the certificate, but the list that Python programs bring
        along (certifi) does not contain its authority, {issuer}. Therefore, requests
        2.34 and httpx 0.28 refuse it, while openai 3.49 uses this machine's store and
        accepts it.
        → Set SSL_CERT_FILE (httpx) and REQUESTS_CA_BUNDLE (requests) to this machine's
        certificate file, which is /etc/ssl/certs/ca-certificates.crt on Debian and
        Ubuntu."""),
    "tls.only_certifi": machine.warn("""
        This machine's certificate store does not trust {issuer}, although the list that
        Python programs bring along (certifi) does. Programs that use the store refuse
        the certificate: curl, openai 3.49, and everything that uses Python's own
        urllib.
        → Update the certificates of this machine, such as the package
        ca-certificates."""),
    "tls.store_refuses": machine.warn("""
        The store that SSL_CERT_FILE or SSL_CERT_DIR names does not trust {issuer},
        although the list that Python programs bring along (certifi) does. Programs that
        use only that store refuse the certificate: httpx 0.28 and openai 3.49.
        → Add the certificates of the public authorities to the file, or unset the
        variable."""),
    "tls.no_machine_store": machine.warn(f"""
        This machine has no certificate store that Python can find. Programs without a
        list of their own trust no server.
        → {_INSTALL_CERTIFICATES}"""),
    "tls.no_store": machine.fail(f"""
        This machine has no trusted certificates at all, so programs cannot trust any
        server. This says nothing about the server that was tested, whose certificate is
        from {{issuer}}.
        → {_INSTALL_CERTIFICATES}"""),
    "tls.partial_older": machine.warn(f"""
        The certificate store contains an intermediate certificate, but not the root
        above it. Programs on Python 3.12 and older, and Node 20, do not accept that.
        → {_GET_ROOT}"""),
    "tls.partial": machine.fail(f"""
        The certificate store contains an intermediate certificate, but not the root
        above it. Python before 3.13, including the one that runs here, and Node 20 do
        not accept that; curl 7.88 does.
        → {_GET_ROOT}"""),
    "tls.store_missing": machine.fail(f"""
        {{variable}} is set to {{path}}, which does not exist. {_TRUST_NOBODY}
        → Correct the path, or unset the variable."""),
    "tls.store_unreadable": machine.fail(f"""
        {{variable}} is set to {{path}}, which cannot be read: {{reason}}.
        {_TRUST_NOBODY}
        → Allow this user to read the file, or unset the variable."""),
    "tls.store_empty": machine.fail(f"""
        {{variable}} is set to {{path}}, which contains no certificate in PEM format.
        {_TRUST_NOBODY}
        → The file must contain lines with BEGIN CERTIFICATE. To convert a DER file, run
        “openssl x509 -inform der -in FILE -out FILE.pem”."""),
    "tls.store_broken": machine.fail(f"""
        {{variable}} is set to {{path}}, which contains a damaged certificate:
        {{reason}}. {_TRUST_NOBODY}
        → A certificate in the file was cut off or edited. Get the file again from its
        source."""),
    "tls.store_no_hashes": machine.fail("""
        {variable} is set to {path}, a directory in which OpenSSL finds no certificate,
        because the files in it are not named by their hashes. Programs that use it
        trust no server.
        → Run “openssl rehash {path}”."""),
    "tls.key_log": machine.fail("""
        SSLKEYLOGFILE is set to {path}, which cannot be written: {reason}. Python
        programs stop with an error before they connect.
        → Unset the variable, or allow this user to write the file."""),
}
