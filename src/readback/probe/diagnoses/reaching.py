"""Diagnoses on the way to the service: address, key, proxies, DNS, TCP, TLS."""

from readback.contract import VERSION_PREFIX
from readback.keys import PREFIX
from readback.probe.diagnoses.rows import fail, ok, skip, warn
from readback.probe.findings import Culprit, Family

_USE = "Use {base_url}; the rest is tested with that."
_COPY = "Copy the key again from where you keep it, or make a new one in the cabinet."

_ADDRESS = (
    ok("address.ok", "{base_url} has the right form."),
    fail(
        "address.is_key",
        Family.ADDRESS,
        Culprit.INPUT,
        "This is a key, not an address.",
        "Give the address, and the key in READBACK_API_KEY or with --key-file. "
        "Other people on this machine may have seen the key: revoke it.",
    ),
    fail(
        "address.spaces",
        Family.ADDRESS,
        Culprit.INPUT,
        "Spaces, quotation marks or invisible characters stand in the address.",
        _USE,
    ),
    fail(
        "address.no_scheme",
        Family.ADDRESS,
        Culprit.INPUT,
        "The address does not begin with https:// or http://.",
        _USE,
    ),
    fail(
        "address.scheme",
        Family.ADDRESS,
        Culprit.INPUT,
        "The scheme is {scheme}, and the API speaks https or http.",
        "Copy the address from the cabinet.",
    ),
    fail(
        "address.host",
        Family.ADDRESS,
        Culprit.INPUT,
        "The address has no host name or port that can be used.",
        "Copy the address from the cabinet.",
    ),
    fail(
        "address.login",
        Family.ADDRESS,
        Culprit.INPUT,
        "The address has a user name or a password in it.",
        "The key alone says who you are. " + _USE,
    ),
    fail(
        "address.parameter",
        Family.ADDRESS,
        Culprit.INPUT,
        "The address has a URL parameter or a fragment, which the API refuses.",
        _USE,
    ),
    fail(
        "address.endpoint",
        Family.ADDRESS,
        Culprit.INPUT,
        "The address has an endpoint at its end, which clients add by themselves.",
        _USE,
    ),
    fail(
        "address.doubled",
        Family.ADDRESS,
        Culprit.INPUT,
        f"{VERSION_PREFIX} stands in the address twice.",
        _USE,
    ),
    fail(
        "address.no_version",
        Family.ADDRESS,
        Culprit.INPUT,
        f"The address does not end in {VERSION_PREFIX}.",
        _USE,
    ),
    fail(
        "address.slashes",
        Family.ADDRESS,
        Culprit.INPUT,
        "The address has a slash too many inside.",
        _USE,
    ),
    warn(
        "address.trailing_slash",
        Culprit.INPUT,
        "The address ends in a slash, which some clients double.",
        _USE,
    ),
    warn(
        "address.unencrypted",
        Culprit.INPUT,
        "The address begins with http://, so everyone on the way can read the key.",
        "Use https:// if the cabinet shows such an address.",
    ),
)

_KEY = (
    ok("key.ok", "{key} has the right form, and its checksum fits."),
    fail(
        "key.none",
        Family.KEY,
        Culprit.INPUT,
        "There is no key.",
        "Set READBACK_API_KEY, or use --key-file; keys are made in the cabinet.",
    ),
    fail(
        "key.spaces",
        Family.KEY,
        Culprit.INPUT,
        "White space or invisible characters stand around the key.",
        "Remove them where the key is kept; the rest is tested without them.",
    ),
    fail(
        "key.quoted",
        Family.KEY,
        Culprit.INPUT,
        "Quotation marks stand around the key.",
        "Remove them where the key is kept; the rest is tested without them.",
    ),
    fail(
        "key.bearer",
        Family.KEY,
        Culprit.INPUT,
        "The word Bearer stands before the key, so clients would send it twice.",
        "Keep the key alone; the rest is tested without the word.",
    ),
    fail(
        "key.mask",
        Family.KEY,
        Culprit.INPUT,
        "This is the shortened form that lists show, not the key.",
        "A key is shown in full once, when it is made: make a new one in the cabinet.",
    ),
    fail(
        "key.prefix",
        Family.KEY,
        Culprit.INPUT,
        f"This is not a key of Readback: one begins with {PREFIX}.",
        "Is it another service's key? It has not been sent. " + _COPY,
    ),
    fail("key.cut", Family.KEY, Culprit.INPUT, "The key is cut off: {flaw}.", _COPY),
    fail("key.long", Family.KEY, Culprit.INPUT, "The key is too long: {flaw}.", _COPY),
    fail(
        "key.characters",
        Family.KEY,
        Culprit.INPUT,
        "A character is in the key that no key has: {flaw}.",
        _COPY,
    ),
    fail("key.typo", Family.KEY, Culprit.INPUT, "A typo in the key: {flaw}.", _COPY),
)

_NETWORK = (
    ok("proxies.none", "No proxy is set in the environment."),
    ok("proxies.bypassed", "{variable} is set, and NO_PROXY leads past it."),
    ok("proxies.used", "Requests go through {proxy}, as {variable} says."),
    fail(
        "proxies.unusable",
        Family.NETWORK,
        Culprit.MACHINE,
        "{variable} names {proxy}, which is not an HTTP proxy.",
        "Correct or unset {variable}, or name {host} in NO_PROXY. Programs that use "
        "httpx, as openai does, need the package httpx[socks] for a SOCKS proxy.",
    ),
    ok("dns.ok", "{host} is {addresses}."),
    ok("dns.literal", "The address names {host} itself: there is nothing to look up."),
    fail(
        "dns.unknown",
        Family.NETWORK,
        Culprit.INPUT,
        "Nobody knows the name {host}.",
        "Compare it letter by letter with the address in the cabinet; inside a "
        "company or a container, ask which DNS server knows it.",
    ),
    fail(
        "dns.failed",
        Family.NETWORK,
        Culprit.MACHINE,
        "The DNS server cannot be asked for {host}: {reason}.",
        "Is this machine on the network? Look at its DNS settings, and at a VPN.",
    ),
    fail(
        "dns.silent",
        Family.NETWORK,
        Culprit.NETWORK,
        "The DNS server does not answer within {timeout} s.",
        "Look at the DNS settings of this machine, and at a VPN.",
    ),
    ok("tcp.ok", "{addresses} can be reached."),
    warn(
        "tcp.v6_only",
        Culprit.NETWORK,
        "The service is reached over IPv6 alone.",
        "A program, container or network without IPv6 does not get there.",
    ),
    warn(
        "tcp.partly",
        Culprit.SERVICE,
        "Of the addresses of {host}, {dead} cannot be reached.",
        "Clients lose time on it or fail now and then: tell the operator.",
    ),
    fail(
        "tcp.refused",
        Family.NETWORK,
        Culprit.SERVICE,
        "{host} is there, and nothing listens on port {port}.",
        "Compare the port with the address in the cabinet; is the service running?",
    ),
    fail(
        "tcp.timeout",
        Family.NETWORK,
        Culprit.NETWORK,
        "No answer from {host} on port {port} within {timeout} s: a firewall drops "
        "the packets, or the machine is off.",
        "Ask for the way to {host}:{port} to be opened, or set the proxy to use.",
    ),
    fail(
        "tcp.unreachable",
        Family.NETWORK,
        Culprit.NETWORK,
        "There is no way to {host}: {reason}.",
        "Look at the network of this machine: routes, VPN, IPv6.",
    ),
    fail(
        "proxy.unreachable",
        Family.NETWORK,
        Culprit.MACHINE,
        "The proxy {proxy} cannot be reached: {reason}.",
        "Correct or unset {variable}, or name the service's host in NO_PROXY.",
    ),
    fail(
        "proxy.refuses",
        Family.NETWORK,
        Culprit.PROXY,
        "The proxy does not connect to {host}: {reason}.",
        "Ask whoever runs the proxy to allow {host}.",
    ),
    fail(
        "proxy.login",
        Family.NETWORK,
        Culprit.PROXY,
        "The proxy asks for a user name and a password.",
        "Put them into the proxy's address in the environment.",
    ),
)

_TLS = (
    skip("tls.none", "Plain HTTP: there is no certificate to look at."),
    ok("tls.ok", "{version}; {subject}, by {issuer}, until {until}."),
    warn(
        "tls.expires_soon",
        Culprit.SERVICE,
        "The certificate is valid for {days} days more.",
        "Tell the operator that it is about to expire.",
    ),
    warn(
        "tls.intercepted_trusted",
        Culprit.PROXY,
        "{issuer} reads along: it answers with a certificate of its own, which this "
        "machine trusts.",
        "Programs with a certificate store of their own refuse it: they need "
        "{issuer}'s root certificate, too.",
    ),
    warn(
        "tls.only_system",
        Culprit.MACHINE,
        "This machine trusts the certificate by {issuer}, and Python programs that "
        "bring their own store, as openai and requests do, refuse it.",
        "Set SSL_CERT_FILE and REQUESTS_CA_BUNDLE to the file of this machine's "
        "certificates.",
    ),
    fail(
        "tls.expired",
        Family.TLS,
        Culprit.SERVICE,
        "The certificate expired on {until}.",
        "Tell the operator to renew it; or is the clock of this machine wrong?",
    ),
    fail(
        "tls.not_yet_valid",
        Family.TLS,
        Culprit.MACHINE,
        "The certificate is not valid before {since}.",
        "Look at the clock of this machine.",
    ),
    fail(
        "tls.wrong_name",
        Family.TLS,
        Culprit.INPUT,
        "The certificate is for {subject}, not for {host}.",
        "Use a name that the certificate has; if yours is the one in the cabinet, "
        "tell the operator.",
    ),
    fail(
        "tls.self_signed",
        Family.TLS,
        Culprit.SERVICE,
        "The certificate is signed by itself, so it proves nothing.",
        "Tell the operator; for a test of your own, set SSL_CERT_FILE to it.",
    ),
    fail(
        "tls.intercepted",
        Family.TLS,
        Culprit.PROXY,
        "{issuer} answers in place of the service, with a certificate of its own.",
        "Ask for the root certificate of your company's proxy and set SSL_CERT_FILE "
        "to it, or have the address taken out of the inspection.",
    ),
    fail(
        "tls.unknown_issuer",
        Family.TLS,
        Culprit.SERVICE,
        "Nobody here knows {issuer}, who signed the certificate.",
        "A private authority: set SSL_CERT_FILE to its certificate. A public one: the "
        "operator forgot the intermediate certificate.",
    ),
    fail(
        "tls.untrusted",
        Family.TLS,
        Culprit.SERVICE,
        "The certificate cannot be trusted: {reason}.",
        "Tell the operator.",
    ),
    fail(
        "tls.plain_http",
        Family.TLS,
        Culprit.INPUT,
        "Port {port} speaks plain HTTP, and the address begins with https://.",
        "Use http:// or the port for https.",
    ),
    fail(
        "tls.not_tls",
        Family.TLS,
        Culprit.INPUT,
        "Port {port} does not speak TLS.",
        "Compare the port with the address in the cabinet.",
    ),
    fail(
        "tls.cut",
        Family.TLS,
        Culprit.NETWORK,
        "The connection is cut while the encryption is agreed on.",
        "A firewall may forbid this name; or the server has no certificate for it.",
    ),
    fail(
        "tls.silent",
        Family.TLS,
        Culprit.NETWORK,
        "The connection opens, and then nothing comes within {timeout} s.",
        "A firewall or a VPN may hold the packets back; try another network.",
    ),
    fail(
        "tls.refused",
        Family.TLS,
        Culprit.SERVICE,
        "The two sides do not agree on an encryption: {reason}.",
        "One side is too old or too strict: bring Python and OpenSSL up to date, or "
        "tell the operator.",
    ),
)

REACHING = _ADDRESS + _KEY + _NETWORK + _TLS
