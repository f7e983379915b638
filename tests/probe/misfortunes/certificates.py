"""Problems with TLS: certificates, handshakes and certificate stores."""

import ssl
from datetime import timedelta

from cryptography import x509

from tests.probe import setups_tls, tls_servers
from tests.probe.gateway import dated, every, page
from tests.probe.misfortunes.arranging import kind_of
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import (
    Context,
    Resources,
    below,
    entered_as,
    issued_by,
    on_socket,
    other_in,
    over_tls,
    proxied,
    serving,
    untrusted,
    with_settings,
)
from tests.support.authority import DAY, Authority

_KUBERNETES = "Kubernetes Ingress Controller Fake Certificate"


def _row(name, context: Context, *says, by="operator", trusted=True, **options):
    judged = ("never", "shows", "blame", "id")
    more = {k: options.pop(k) for k in judged if k in options}
    store = options.pop("store", None if trusted else untrusted)
    arrange = over_tls(context, store=store, **options)
    return Misfortune(name, arrange, says, by, **{"blame": "store", **more})


_CERTIFICATES = (
    _row(
        "the certificate expired a year ago",
        serving(since=-400 * DAY, until=-365 * DAY),
        "expired",
        never=("not valid until",),
        id="tls.expired",
    ),
    _row(
        "the certificate expires in ten minutes",
        serving(until=timedelta(minutes=10)),
        "expires",
        "minute|hour|today|soon|less",
        never=(r"\b0 days",),
        id="tls.expires_soon",
    ),
    _row(
        "the certificate is valid from tomorrow, and clocks agree",
        serving(since=DAY, until=9 * DAY),
        "not (yet )?valid|valid (from|until)",
        by="operator",
        never=("Set the clock",),
    ),
    _row(
        "the certificate is for another machine of the company",
        serving(host="mail.acme.example"),
        r"mail\.acme\.example",
        by="you operator",
        id="tls.wrong_name",
    ),
    _row(
        "the certificate is that of a new web server",
        issued_by("localhost.localdomain", host="localhost.localdomain"),
        "localdomain|built-in|trust|self-signed",
        by="operator you",
    ),
    _row(
        "the address is an IP address",
        serving(),
        "IP address|127",
        by="you",
        host="127.0.0.1",
    ),
    _row(
        "the certificate is self-signed and expired",
        serving(self_signed=True, since=-9 * DAY, until=-DAY),
        "self-signed|expired",
        by="operator you",
        trusted=False,
        id="tls.self_signed",
    ),
    _row(
        "a private authority that nobody trusts",
        issued_by("Acme Root CA"),
        "Acme Root CA",
        by="operator you",
        trusted=False,
        id="tls.unknown_issuer",
    ),
    _row(
        "the server does not send its intermediate certificate",
        below("Acme Issuing CA", chain=[], changes=setups_tls.ISSUER_ADDRESS),
        "intermediate",
        id="tls.missing_intermediate",
    ),
    Misfortune(
        "the certificate lacks what Python 3.13 requires, and Python 3.13 runs",
        setups_tls.since_3_13(over_tls(serving(changes=setups_tls.UNIDENTIFIED))),
        ("3.13",),
        "operator you",
        blame="store",
        id="tls.strict",
    ),
    _row(
        "the certificate has the name of the host only as its common name",
        serving(changes={x509.SubjectAlternativeName: None}),
        "subjectAltName",
        id="tls.no_names",
    ),
    _row(
        "the clock of this machine is two days behind",
        serving(since=DAY),
        "clock",
        behave=dated(timedelta(days=2).total_seconds()),
        by="you",
        id="tls.clock",
    ),
    Misfortune(
        "a private authority has issued the certificate of a public host",
        proxied(encrypted=True, service="api.example"),
        ("Tests Root",),
        "you",
        blame="store",
        id="tls.private_authority",
    ),
    _row(
        "the certificate is for clients only",
        serving(changes=setups_tls.FOR_CLIENTS),
        "not meant|purpose|server",
        id="tls.untrusted",
    ),
    _row("the key has 1024 bits", serving(new_key=setups_tls.small_key), "weak"),
    *(
        _row(
            f"{name} decrypts the traffic",
            issued_by(name),
            name.split()[0],
            by="network you",
            trusted=False,
            id="tls.intercepted",
        )
        for name in (
            "Zscaler Root CA",
            "FortiGate CA",
            "Netskope CA",
            "Palo Alto Networks Firewall CA",
            "Sophos SSL CA",
            "Kaspersky Anti-Virus Personal Root Certificate",
            "ESET SSL Filter CA",
            "Avast Web/Mail Shield Root",
            "mitmproxy",
            "Charles Proxy CA",
            "ca.acme.goskope.com",
            "Cisco Umbrella Root CA",
            "DO_NOT_TRUST_FiddlerRoot",
            "Cloudflare for Teams ECC Certificate Authority",
        )
    ),
    _row(
        "a proxy decrypts the traffic, and this machine trusts it",
        issued_by("Zscaler Trusted Root CA"),
        "Zscaler",
        by="nobody",
        store=other_in("SSL_CERT_FILE"),
        id="tls.intercepted_trusted",
    ),
    *(
        _row(
            f"a certificate of something that decrypts, which {what}",
            issued_by("Zscaler Root CA", **certificate),
            by="network",
            store=other_in("SSL_CERT_FILE"),
            id=finding,
        )
        for what, certificate, finding in (
            ("has expired", {"since": -9 * DAY, "until": -DAY}, "tls.expired"),
            ("is for its own name", {"host": "block.example"}, "tls.intercepted"),
        )
    ),
    _row(
        "what decrypts answers some of the requests itself",
        issued_by("Zscaler Root CA"),
        "reads the requests",
        by="network",
        behave=every(3, page(502, "Bad Gateway")),
        store=other_in("SSL_CERT_FILE"),
        id="sometimes.fails",
    ),
    _row(
        "the company's own authority decrypts",
        issued_by("Acme Web Gateway CA"),
        "Acme Web Gateway CA",
        by="network you operator",
        trusted=False,
    ),
    *(
        _row(
            f"the built-in certificate {name}",
            serving(host=name, self_signed=True),
            "built-in",
            trusted=False,
            id="tls.untrusted",
        )
        for name in (_KUBERNETES, "TRAEFIK DEFAULT CERT")
    ),
)
_HANDSHAKES = (
    _row(
        "the server requires one in TLS 1.2",
        with_settings(setups_tls.require_it_in_tls_1_2),
        "client certificate",
        by="you operator",
    ),
    _row(
        "the server requires a client certificate",
        with_settings(setups_tls.require_client_certificate),
        "client certificate",
        by="you operator",
        id="tls.client_certificate",
    ),
    _row(
        "the server does not know the host name",
        with_settings(setups_tls.know_no_name),
        "host name",
        by="operator",
        id="tls.refused",
    ),
    _row(
        "the server speaks only TLS 1.1",
        with_settings(setups_tls.only_tls_1_1, new_key=setups_tls.rsa_key),
        "version|TLS",
        id="tls.refused",
    ),
    _row(
        "http:// is used for a TLS port",
        serving(),
        "https",
        scheme="http",
        by="you",
        id="http.tls_port",
    ),
    Misfortune(
        "https:// is used for a plain HTTP port",
        entered_as(lambda url: url.replace("http://", "https://")),
        ("http://",),
        "you",
        id="tls.plain_http",
    ),
    Misfortune(
        "a filter cuts handshakes that name the host",
        setups_tls.filtered_name,
        ("name",),
        "network",
        id="tls.filtered_name",
    ),
)
_SOCKETS = (
    Misfortune(
        "alert 120, no application protocol",
        on_socket(tls_servers.send_alert(120), "https"),
        ("HTTP",),
        "operator",
        id="tls.refused",
    ),
)


def _store(name, text, *says, variable="SSL_CERT_FILE", by="you", finding="tls.store"):
    """Set a variable to the path of a file with this text, or of a missing file."""

    def store(resources: Resources) -> dict[str, str]:
        if text is None:
            return {variable: str(resources.folder / "missing.pem")}
        path = resources.folder / "store.pem"
        path.write_bytes(text(resources))
        return {variable: str(path)}

    arrange = over_tls(serving(), store=store)
    return Misfortune(name, arrange, says, by, blame="store", id=finding)


def _pem(resources: Resources) -> bytes:
    return resources.authority.root.read_bytes()


_STORES = (
    _store(
        "SSL_CERT_DIR names no folder",
        None,
        "SSL_CERT_DIR",
        "not exist",
        variable="SSL_CERT_DIR",
    ),
    _store(
        "SSL_CERT_FILE is a DER file",
        lambda resources: ssl.PEM_cert_to_DER_cert(_pem(resources).decode()),
        "SSL_CERT_FILE",
        "PEM|DER",
    ),
    _store(
        "SSL_CERT_FILE has another authority",
        lambda resources: Authority(resources.folder / "third", "Third Root").pem,
        "trust|SSL_CERT_FILE",
        by="you operator",
        finding="tls.unknown_issuer",
    ),
)

CERTIFICATES = kind_of("tls", *_CERTIFICATES, *_HANDSHAKES, *_SOCKETS, *_STORES)
