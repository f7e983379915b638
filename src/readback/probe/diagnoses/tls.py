"""Diagnoses of TLS: the handshake, the certificate, the stores of this machine."""

from __future__ import annotations

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
        → A key is not enough there. Ask the operator for a certificate and configure it
        in your client, or for an address that does not require one."""),
    "tls.unknown_name": entered.fail("""
        The server does not know the name {host}: it refuses the handshake for it
        ({reason}).
        → Check the host name. If it is right, tell the operator to configure it in the
        server or gateway."""),
    "tls.needs_name": entered.fail("""
        The server refuses the handshake for an IP address, which tells it no host name
        ({reason}).
        → Use the host name in the address."""),
    "tls.filtered_name": network.fail("""
        Something stops handshakes that name {host}; without the name they succeed. This
        is a filter by host name, in your network or at the provider.
        → Ask the administrator of your network to allow {host}, or try another
        network."""),
    "tls.http2_only": service.fail("""
        The server speaks only HTTP/2, and refuses HTTP/1.1 in the handshake.
        → Many clients, such as requests and the openai package, speak only HTTP/1.1 by
        default. Tell the operator to allow it."""),
    "tls.old_version": service.fail("""
        The server speaks only old versions of TLS, which this machine refuses
        ({reason}).
        → Tell the operator to turn on TLS 1.2 or newer."""),
    "tls.weak_server": service.fail("""
        The server uses a key or signature that is too weak for this machine's OpenSSL:
        {reason}.
        → Tell the operator to use stronger parameters."""),
    "tls.legacy_renegotiation": service.fail("""
        The server, or a proxy before it, does not support secure renegotiation, which
        OpenSSL 3 requires.
        → Tell the operator to update it."""),
    "tls.broken": service.fail("""
        The server began a TLS handshake, but sent something invalid: {reason}.
        → Something changes the data on the way, or the server is faulty. Try another
        network, then tell the operator."""),
    "tls.plain_http": entered.fail("""
        Port {port} serves plain HTTP, but the address starts with https://.
        → Use http://, or the port that serves https."""),
    "tls.not_tls": entered.fail("""
        Port {port} does not support TLS.
        → Compare the port with the address that you were given."""),
    "tls.cut": network.fail("""
        The connection was closed during the TLS handshake.
        → Try another network, such as that of a mobile phone. If it works there, ask
        your network's administrator to allow this host name; if not, tell the operator
        that the server may have no certificate for it."""),
    "tls.silent": network.fail("""
        The connection opened, but the TLS handshake got no response within {timeout} s.
        → Try without the VPN, or another network, such as that of a mobile phone. If it
        works there, ask your network's administrator whether a firewall drops the
        packets."""),
    "tls.refused": service.fail("""
        Client and server could not agree on TLS parameters: {reason}.
        → One side is too old or too strict. Update Python and OpenSSL, or tell the
        operator."""),
}
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
        It is either the operator's own or something that decrypts the traffic.
        → Ask the operator whether {issuer} is theirs. If it is not, your network reads
        the traffic, including the key; ask its administrator."""),
    "tls.strict_newer": service.warn("""
        Programs on Python 3.13 and newer refuse the certificate: {reason}. This Python,
        curl 7.88 and Node 20 accept it.
        → Tell whoever runs the authority {issuer}: its certificates, or its own one,
        lack what RFC 5280 requires."""),
    "tls.strict": service.fail("""
        Python 3.13 and newer, such as the one that runs here, refuse the certificate:
        {reason}. Older Pythons, curl 7.88 and Node 20 accept it.
        → Tell whoever runs the authority {issuer}: its certificates, or its own one,
        lack what RFC 5280 requires. Until then, use Python 3.12, or remove
        ssl.VERIFY_X509_STRICT from the verify_flags of the program's SSL context."""),
    "tls.only_common_name": service.warn("""
        The certificate has the host name only in its common name. This program, httpx
        0.28 and curl 7.88 accept that; requests 2.34 refuses it.
        → Tell the operator to add the name as a subject alternative name."""),
    "tls.chain_order": service.warn("""
        The server sends its certificates in the wrong order. Most programs sort them;
        strict or old ones refuse them.
        → Tell the operator: each certificate must follow the one that it has
        issued."""),
    "tls.expired": service.fail("""
        The certificate expired on {until}.
        → Check the clock of this machine. If it is right, tell the operator to renew
        the certificate."""),
    "tls.not_yet_valid": machine.fail("""
        The certificate is not valid until {since}.
        → Check the clock of this machine."""),
    "tls.early_certificate": service.fail("""
        The certificate is not valid until {since}, and the clocks of this machine and
        of the server agree that this is still to come.
        → Tell the operator: the certificate was installed too early, or made with a
        wrong clock."""),
    "tls.chain_dates": service.fail("""
        The certificate of the authority {name} is not valid now ({period}); the one of
        the server itself is.
        → Tell the operator to send a current intermediate certificate. If the server
        does not send it, update the certificates of this machine."""),
    "tls.clock": machine.fail("""
        The clock of this machine is wrong, so that the certificate seems invalid: it is
        {here} UTC here, but {there} UTC for the server.
        → Set the clock, or turn on automatic time."""),
    "tls.wrong_name": entered.fail("""
        The certificate is for {subject}, not for {host}.
        → Use a host name that the certificate covers. If yours is right, tell the
        operator that the server does not know it."""),
    "tls.wildcard": service.fail("""
        The certificate is for {subject}, which does not cover {host}: the * covers only
        one part of a name.
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
        → Tell the operator. If this is your own test server, set SSL_CERT_FILE to its
        certificate."""),
    "tls.intercepted": proxy.fail("""
        {issuer} intercepts the connection and presents its own certificate.
        → Ask your network's administrator for the file with the root certificate of
        {issuer}, and set SSL_CERT_FILE to it; or ask them to exclude the address from
        TLS inspection."""),
    "tls.missing_intermediate": service.fail("""
        The server does not send the intermediate certificate of {issuer}, which issued
        its own. Browsers often have it; programs do not.
        → Tell the operator to configure the full chain of certificates. If {issuer} is
        a private authority, also set SSL_CERT_FILE to its root certificate."""),
    "tls.incomplete_chain": service.fail("""
        The server sends only its own certificate, issued by {issuer}, and the store
        that SSL_CERT_FILE or SSL_CERT_DIR names does not contain {issuer}.
        → Ask the operator whether {issuer} is an intermediate or a root authority. If
        it is an intermediate one, the server must send its certificate, too; if it is a
        root, add its certificate to the store."""),
    "tls.unknown_issuer": service.fail("""
        The certificate was issued by {issuer}, which this machine does not trust.
        → If {issuer} is the operator's own authority, set SSL_CERT_FILE to its root
        certificate. If the operator does not know it, something between you and the
        service decrypts the traffic."""),
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
        → Tell the operator."""),
}
STORES = {
    "tls.only_system": machine.warn("""
        This machine trusts the certificate, but the list that Python programs carry
        does not contain its authority, {issuer}. Therefore requests 2.34 and httpx 0.28
        refuse it, while openai 3.49 uses this machine's store and accepts it.
        → Set SSL_CERT_FILE (httpx) and REQUESTS_CA_BUNDLE (requests) to this machine's
        certificate file, which is /etc/ssl/certs/ca-certificates.crt on Debian and
        Ubuntu."""),
    "tls.only_certifi": machine.warn("""
        This machine's certificate store does not trust {issuer}, although the list that
        Python programs carry does. Programs that use the store refuse the certificate:
        curl, openai 3.49, and everything on Python's own urllib.
        → Update the certificates of this machine, such as the package
        ca-certificates."""),
    "tls.store_refuses": machine.warn("""
        The store that SSL_CERT_FILE or SSL_CERT_DIR names does not trust {issuer},
        although the list that Python programs carry does. Programs that use only that
        store refuse the certificate: httpx 0.28 and openai 3.49.
        → Add the public certificates to the file, or remove the variable."""),
    "tls.no_machine_store": machine.warn("""
        This machine has no certificate store that Python can find. Programs without a
        list of their own trust no server.
        → On Linux, install the package ca-certificates. With Python from python.org on
        macOS, run “Install Certificates.command” in the folder of Python."""),
    "tls.no_store": machine.fail("""
        This machine has no trusted certificates at all, so that programs can trust no
        server. It says nothing about this server: its certificate is from {issuer}.
        → On Linux, install the package ca-certificates. With Python from python.org on
        macOS, run “Install Certificates.command” in the folder of Python."""),
    "tls.partial_older": machine.warn("""
        The certificate store contains an intermediate certificate, but not the root
        above it. Programs on Python 3.12 and older, and Node 20, refuse that.
        → Ask whoever gave you the file for the root certificate that issued it, and add
        that to the file."""),
    "tls.partial": machine.fail("""
        The certificate store contains an intermediate certificate, but not the root
        above it. Python before 3.13, such as the one that runs here, and Node 20 refuse
        that; curl 7.88 accepts it.
        → Ask whoever gave you the file for the root certificate that issued it, and add
        that to the file."""),
    "tls.store_missing": machine.fail("""
        {variable} is set to {path}, which does not exist. Programs that use it trust no
        server, or stop with an error.
        → Correct the path, or remove the variable."""),
    "tls.store_unreadable": machine.fail("""
        {variable} is set to {path}, which cannot be read: {reason}. Programs that use
        it trust no server, or stop with an error.
        → Let this user read the file, or remove the variable."""),
    "tls.store_empty": machine.fail("""
        {variable} is set to {path}, which contains no certificate in PEM form. Programs
        that use it trust no server, or stop with an error.
        → The file must contain lines with BEGIN CERTIFICATE. A DER file is converted
        with: openssl x509 -inform der -in FILE -out FILE.pem."""),
    "tls.store_broken": machine.fail("""
        {variable} is set to {path}, which contains a damaged certificate: {reason}.
        Programs that use it trust no server, or stop with an error.
        → One certificate is cut off or edited. Get the file again from where it
        came."""),
    "tls.store_no_hashes": machine.fail("""
        {variable} is set to {path}, in which OpenSSL finds no certificate: their names
        are not hashes. Programs that use it trust no server.
        → Run openssl rehash for the directory."""),
    "tls.key_log": machine.fail("""
        SSLKEYLOGFILE is set to {path}, which cannot be written: {reason}. Python
        programs stop with an error before they connect.
        → Remove the variable, or let this user write the file."""),
}
