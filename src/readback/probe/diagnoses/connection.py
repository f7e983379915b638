"""Diagnoses of the connection: address, key format, proxies, DNS, TCP, TLS."""

from readback.contract import VERSION_PREFIX
from readback.keys import PREFIX
from readback.probe.diagnoses.templates import fail, ok, skip, warn
from readback.probe.results import Culprit, FailureFamily

_USE = "Use {base_url}; the remaining steps test that address."
_COPY = (
    "Copy the key again from where you stored it, or create a new one in the cabinet."
)

_ADDRESS = (
    ok("address.ok", "{base_url} is a valid address."),
    fail(
        "address.is_key",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "This looks like a key, not an address.",
        "Pass the address as the argument, and the key in READBACK_API_KEY or with "
        "--key-file. Other users of this machine may have seen the key, so revoke it.",
    ),
    fail(
        "address.spaces",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address contains spaces, quotation marks or invisible characters.",
        _USE,
    ),
    fail(
        "address.no_scheme",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address does not start with https:// or http://.",
        _USE,
    ),
    fail(
        "address.scheme",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The scheme of the address is {scheme}, but the API supports https and http.",
        "Copy the address from the cabinet.",
    ),
    fail(
        "address.host",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The host name or port in the address is missing or invalid.",
        "Copy the address from the cabinet.",
    ),
    fail(
        "address.login",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address contains a user name or password.",
        "The API needs only the key. " + _USE,
    ),
    fail(
        "address.parameter",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address contains a URL parameter or a fragment, which the API refuses.",
        _USE,
    ),
    fail(
        "address.endpoint",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The address includes the path of an endpoint, which clients add themselves.",
        _USE,
    ),
    fail(
        "address.doubled",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        f"The address contains {VERSION_PREFIX} twice.",
        _USE,
    ),
    fail(
        "address.no_version",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        f"The address does not end with {VERSION_PREFIX}.",
        _USE,
    ),
    fail(
        "address.slashes",
        FailureFamily.ADDRESS,
        Culprit.INPUT,
        "The path of the address contains an extra slash.",
        _USE,
    ),
    warn(
        "address.trailing_slash",
        Culprit.INPUT,
        "The address ends with a slash, and some clients add a second one.",
        _USE,
    ),
    warn(
        "address.unencrypted",
        Culprit.INPUT,
        "The address starts with http://, so the key is sent unencrypted and anyone on "
        "the network path can read it.",
        "Use https:// if the cabinet shows an https:// address.",
    ),
)

_KEY = (
    ok("key.ok", "{key} has the right format, and its checksum is correct."),
    fail(
        "key.none",
        FailureFamily.KEY,
        Culprit.INPUT,
        "No key was given.",
        "Set READBACK_API_KEY or use --key-file. You can create a key in the cabinet.",
    ),
    fail(
        "key.spaces",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key has whitespace or invisible characters around it.",
        "Remove them where the key is stored; the remaining steps ignore them.",
    ),
    fail(
        "key.quoted",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key has quotation marks around it.",
        "Remove them where the key is stored; the remaining steps ignore them.",
    ),
    fail(
        "key.bearer",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key starts with the word Bearer, so clients would send that word twice.",
        "Store only the key itself; the remaining steps ignore the word.",
    ),
    fail(
        "key.mask",
        FailureFamily.KEY,
        Culprit.INPUT,
        "This is the shortened form of a key that lists show, not the key itself.",
        "A key is shown in full only once, when it is created. Create a new one in the "
        "cabinet.",
    ),
    fail(
        "key.prefix",
        FailureFamily.KEY,
        Culprit.INPUT,
        f"This is not a Readback key: those start with {PREFIX}.",
        "It may be a key of another service; it has not been sent. " + _COPY,
    ),
    fail(
        "key.cut",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key is incomplete: {reason}.",
        _COPY,
    ),
    fail(
        "key.long",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key is too long: {reason}.",
        _COPY,
    ),
    fail(
        "key.characters",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key contains a character that is not allowed: {reason}.",
        _COPY,
    ),
    fail(
        "key.typo",
        FailureFamily.KEY,
        Culprit.INPUT,
        "The key contains a typo: {reason}.",
        _COPY,
    ),
)

_NETWORK = (
    ok("proxies.none", "No proxy is set in the environment."),
    ok("proxies.bypassed", "{variable} is set, but NO_PROXY excludes this host."),
    ok("proxies.used", "Requests go through the proxy {proxy}, set in {variable}."),
    fail(
        "proxies.unusable",
        FailureFamily.NETWORK,
        Culprit.MACHINE,
        "{variable} is set to {proxy}, which is not an HTTP proxy.",
        "Correct or unset {variable}, or add {host} to NO_PROXY. For a SOCKS proxy, "
        "programs that use httpx (openai does) need the package httpx[socks].",
    ),
    ok("dns.ok", "{host} resolves to {addresses}."),
    ok("dns.literal", "{host} is an IP address, so no DNS lookup is needed."),
    fail(
        "dns.unknown",
        FailureFamily.NETWORK,
        Culprit.INPUT,
        "The host name {host} does not exist.",
        "Compare it letter by letter with the address in the cabinet. Inside a company "
        "network or a container, find out which DNS server can resolve it.",
    ),
    fail(
        "dns.failed",
        FailureFamily.NETWORK,
        Culprit.MACHINE,
        "The DNS lookup of {host} failed: {reason}.",
        "Check that this machine is online, then check its DNS settings and any VPN.",
    ),
    fail(
        "dns.silent",
        FailureFamily.NETWORK,
        Culprit.NETWORK,
        "The DNS server did not respond within {timeout} s.",
        "Check the DNS settings of this machine and any VPN.",
    ),
    ok("tcp.ok", "Connected to {addresses}."),
    warn(
        "tcp.v6_only",
        Culprit.NETWORK,
        "The service is reachable only over IPv6.",
        "Programs, containers and networks without IPv6 cannot connect to it.",
    ),
    warn(
        "tcp.partly",
        Culprit.SERVICE,
        "Some addresses of {host} are unreachable: {unreachable}.",
        "Clients that try them lose time or fail now and then. Tell the operator.",
    ),
    fail(
        "tcp.refused",
        FailureFamily.NETWORK,
        Culprit.SERVICE,
        "{host} refused the connection: nothing is listening on port {port}.",
        "Compare the port with the address in the cabinet, and check that the service "
        "is running.",
    ),
    fail(
        "tcp.timeout",
        FailureFamily.NETWORK,
        Culprit.NETWORK,
        "No response from {host} on port {port} within {timeout} s: a firewall drops "
        "the packets, or the machine is down.",
        "Ask your network administrator to allow connections to {host}:{port}, or set "
        "the proxy that you have to use.",
    ),
    fail(
        "tcp.unreachable",
        FailureFamily.NETWORK,
        Culprit.NETWORK,
        "{host} cannot be reached: {reason}.",
        "Check the network of this machine: routes, VPN, IPv6.",
    ),
    fail(
        "proxy.unreachable",
        FailureFamily.NETWORK,
        Culprit.MACHINE,
        "The proxy {proxy} cannot be reached: {reason}.",
        "Correct or unset {variable}, or add the service's host to NO_PROXY.",
    ),
    fail(
        "proxy.refuses",
        FailureFamily.NETWORK,
        Culprit.PROXY,
        "The proxy did not connect to {host}: {reason}.",
        "Ask the administrator of the proxy to allow {host}.",
    ),
    fail(
        "proxy.login",
        FailureFamily.NETWORK,
        Culprit.PROXY,
        "The proxy requires a user name and a password.",
        "Add them to the proxy's address in the environment variable.",
    ),
)

_TLS = (
    skip("tls.none", "The address uses plain HTTP, so there is no certificate."),
    ok("tls.ok", "{version}; certificate for {subject}, by {issuer}, until {until}."),
    warn(
        "tls.expires_soon",
        Culprit.SERVICE,
        "The certificate expires in {days} days.",
        "Tell the operator to renew it.",
    ),
    warn(
        "tls.intercepted_trusted",
        Culprit.PROXY,
        "{issuer} decrypts the traffic: it presents its own certificate, which this "
        "machine trusts.",
        "Programs with their own certificate store refuse it. Add {issuer}'s root "
        "certificate to them as well.",
    ),
    warn(
        "tls.only_system",
        Culprit.MACHINE,
        "This machine trusts the certificate issued by {issuer}, but Python programs "
        "with their own certificate store, such as openai and requests, refuse it.",
        "Set SSL_CERT_FILE and REQUESTS_CA_BUNDLE to this machine's certificate file.",
    ),
    fail(
        "tls.expired",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate expired on {until}.",
        "Check the clock of this machine. If it is right, tell the operator to renew "
        "the certificate.",
    ),
    fail(
        "tls.not_yet_valid",
        FailureFamily.TLS,
        Culprit.MACHINE,
        "The certificate is not valid until {since}.",
        "Check the clock of this machine.",
    ),
    fail(
        "tls.wrong_name",
        FailureFamily.TLS,
        Culprit.INPUT,
        "The certificate is for {subject}, not for {host}.",
        "Use a host name that the certificate covers. If the cabinet shows your name, "
        "tell the operator.",
    ),
    fail(
        "tls.self_signed",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate is self-signed, so it does not prove who the server is.",
        "Tell the operator. If this is your own test server, set SSL_CERT_FILE to its "
        "certificate.",
    ),
    fail(
        "tls.intercepted",
        FailureFamily.TLS,
        Culprit.PROXY,
        "{issuer} intercepts the connection and presents its own certificate.",
        "Get the root certificate of your company's proxy and set SSL_CERT_FILE to it, "
        "or ask to exclude the address from TLS inspection.",
    ),
    fail(
        "tls.unknown_issuer",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate was issued by {issuer}, which this machine does not trust.",
        "For a private certificate authority, set SSL_CERT_FILE to its certificate. "
        "For a public one, tell the operator that the intermediate certificate is "
        "missing.",
    ),
    fail(
        "tls.untrusted",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "The certificate cannot be trusted: {reason}.",
        "Tell the operator.",
    ),
    fail(
        "tls.plain_http",
        FailureFamily.TLS,
        Culprit.INPUT,
        "Port {port} serves plain HTTP, but the address starts with https://.",
        "Use http://, or the port that serves https.",
    ),
    fail(
        "tls.not_tls",
        FailureFamily.TLS,
        Culprit.INPUT,
        "Port {port} does not support TLS.",
        "Compare the port with the address in the cabinet.",
    ),
    fail(
        "tls.cut",
        FailureFamily.TLS,
        Culprit.NETWORK,
        "The connection was closed during the TLS handshake.",
        "A firewall may block this host name, or the server has no certificate for it.",
    ),
    fail(
        "tls.silent",
        FailureFamily.TLS,
        Culprit.NETWORK,
        "The connection opened, but the TLS handshake got no response within "
        "{timeout} s.",
        "A firewall or VPN may be dropping packets. Try another network.",
    ),
    fail(
        "tls.refused",
        FailureFamily.TLS,
        Culprit.SERVICE,
        "Client and server could not agree on TLS parameters: {reason}.",
        "One side is too old or too strict. Update Python and OpenSSL, or tell the "
        "operator.",
    ),
)

CONNECTION = _ADDRESS + _KEY + _NETWORK + _TLS
