"""TLS: certificates, handshakes, stores."""

import ssl
import warnings
from collections.abc import Callable
from datetime import timedelta

from tests.probe import setups_tls, tls_servers
from tests.probe.misfortunes.arranging import kind_of, on_socket, over_tls
from tests.probe.misfortunes.judging import Misfortune
from tests.probe.setups import Resources
from tests.support.authority import DAY, Authority

Make = Callable[[Resources], ssl.SSLContext]


def _always(make: Make):
    def contexts(resources: Resources):
        context = make(resources)
        return lambda number: context

    return contexts


def _row(name, make: Make, *says, by="operator", trusted=True, **options):
    more = {k: options.pop(k) for k in ("never", "shows", "blame") if k in options}
    blame = {"blame": "store", **more}
    store = None if trusted else (lambda resources: {})
    return Misfortune(
        name, over_tls(_always(make), store=store, **options), says, by, **blame
    )


def _serving(**options):
    return lambda resources: resources.authority.serves(**options)


def _issued_by(name: str, **options):
    return lambda resources: Authority(resources.folder / "other", name).serves(
        **options
    )


def _changed(change: Callable[[ssl.SSLContext], None], **options):
    def make(resources: Resources) -> ssl.SSLContext:
        context = resources.authority.serves(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            change(context)
        return context

    return make


def _middle(resources: Resources, **options) -> Authority:
    return Authority(
        resources.folder / "middle",
        "Acme Issuing CA",
        parent=resources.authority,
        **options,
    )


_HOUR = timedelta(hours=1)
_CERTIFICATES = (
    _row(
        "the certificate expired a year ago",
        _serving(since=-400 * DAY, until=-365 * DAY),
        "expired",
        never=("not valid until",),
    ),
    _row("the certificate expired an hour ago", _serving(until=-_HOUR), "expired"),
    _row(
        "the certificate expires in ten minutes",
        _serving(until=timedelta(minutes=10)),
        "expires",
        "minute|hour|today|soon|less",
        never=(r"\b0 days",),
    ),
    _row(
        "the certificate is valid from tomorrow, and clocks agree",
        _serving(since=DAY, until=9 * DAY),
        "not (yet )?valid|valid (from|until)",
        by="operator",
        never=("Set the clock",),
    ),
    _row(
        "the certificate is for www only",
        _serving(host="www.echo.example"),
        r"www\.echo\.example",
        by="you operator",
    ),
    _row(
        "the certificate is for another machine of the company",
        _serving(host="mail.acme.example"),
        r"mail\.acme\.example",
        by="you operator",
    ),
    _row(
        "the certificate is that of a new web server",
        _issued_by("localhost.localdomain", host="localhost.localdomain"),
        "localdomain|built-in|trust|self-signed",
        by="operator you",
    ),
    _row(
        "the certificate has a wildcard of another domain",
        _serving(host="*.acme.example"),
        r"acme\.example",
        by="you operator",
    ),
    _row(
        "the address is an IP address",
        _serving(),
        "IP address|127",
        by="you",
        host="127.0.0.1",
    ),
    _row(
        "the certificate is self-signed and expired",
        _serving(self_signed=True, since=-9 * DAY, until=-DAY),
        "self-signed|expired",
        by="operator you",
        trusted=False,
    ),
    _row(
        "a private authority that nobody trusts",
        _issued_by("Acme Root CA"),
        "Acme Root CA",
        by="operator you",
        trusted=False,
    ),
    _row(
        "a private authority, missing intermediate, no store",
        lambda resources: _middle(resources).serves(chain=[]),
        "Acme Issuing CA",
        by="operator you",
        trusted=False,
    ),
    _row(
        "the certificate is for clients only",
        _serving(changes=setups_tls.FOR_CLIENTS),
        "not meant|purpose|server",
    ),
    _row("the key has 1024 bits", _serving(new_key=setups_tls.small_key), "weak"),
    *(
        _row(
            f"{name} decrypts the traffic",
            _issued_by(name),
            name.split()[0],
            by="network you",
            trusted=False,
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
            "Fiddler Root",
        )
    ),
    _row(
        "the company's own authority decrypts",
        _issued_by("Acme Web Gateway CA"),
        "Acme Web Gateway CA",
        by="network you operator",
        trusted=False,
    ),
    _row(
        "Kubernetes' built-in certificate",
        _issued_by(
            "Kubernetes Ingress Controller Fake Certificate", host="ingress.local"
        ),
        "built-in|Kubernetes",
        trusted=False,
    ),
    _row(
        "Traefik's built-in certificate",
        _issued_by("TRAEFIK DEFAULT CERT", host="abc.traefik.default"),
        "built-in|Traefik",
        trusted=False,
        by="operator you",
    ),
)
_HANDSHAKES = (
    _row(
        "the server requires one in TLS 1.2",
        _changed(setups_tls.require_it_in_tls_1_2),
        "client certificate",
        by="you operator",
    ),
)
_SOCKETS = tuple(
    Misfortune(name, on_socket(behave, "https"), says, by, blame="store")
    for name, behave, says, by in (
        (
            "a handshake is reset",
            tls_servers.reset,
            ("reset|closed|cut",),
            "network operator",
        ),
        (
            "a handshake ends after the first message",
            tls_servers.cut_after_hello,
            ("closed|cut",),
            "network operator",
        ),
        (
            "a handshake stops after the first message",
            tls_servers.stall_after_hello,
            ("handshake|response",),
            "network operator",
        ),
        (
            "noise comes instead of a handshake",
            tls_servers.send_noise,
            ("TLS",),
            "you network operator",
        ),
        (
            "noise comes inside a handshake",
            tls_servers.send_noise_in_records,
            ("handshake|TLS",),
            "network operator",
        ),
        ("a handshake drips", tls_servers.trickle, ("handshake",), "network operator"),
        (
            "alert 40",
            tls_servers.send_alert(40),
            ("handshake|TLS",),
            "you network operator",
        ),
        (
            "alert 70, protocol version",
            tls_servers.send_alert(70),
            ("version|TLS",),
            "operator network",
        ),
        (
            "alert 80, internal error",
            tls_servers.send_alert(80),
            ("TLS|handshake",),
            "you operator network",
        ),
        (
            "alert 120, no application protocol",
            tls_servers.send_alert(120),
            ("HTTP",),
            "operator",
        ),
    )
)


def _store(name, text, *says, variable="SSL_CERT_FILE", by="you"):
    """A variable names a file with this text."""

    def store(resources: Resources) -> dict[str, str]:
        if text is None:
            return {variable: str(resources.folder / "missing.pem")}
        path = resources.folder / "store.pem"
        path.write_bytes(text(resources))
        return {variable: str(path)}

    arrange = over_tls(_always(_serving()), store=store)
    return Misfortune(name, arrange, says, by, blame="store")


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
    _store("SSL_CERT_FILE is empty", lambda _: b"", "SSL_CERT_FILE"),
    _store(
        "SSL_CERT_FILE is a DER file",
        lambda one: ssl.PEM_cert_to_DER_cert(_pem(one).decode()),
        "SSL_CERT_FILE",
        "PEM|DER",
    ),
    _store("SSL_CERT_FILE is cut", lambda one: _pem(one)[:200], "SSL_CERT_FILE"),
    _store(
        "SSL_CERT_FILE has a private key only",
        lambda _: b"-----BEGIN PRIVATE KEY-----\nMII=\n-----END PRIVATE KEY-----\n",
        "SSL_CERT_FILE",
    ),
    _store(
        "SSL_CERT_FILE has another authority",
        lambda one: Authority(one.folder / "third", "Third Root").pem,
        "trust|SSL_CERT_FILE",
        by="you operator",
    ),
)

CERTIFICATES = kind_of("tls", *_CERTIFICATES, *_HANDSHAKES, *_SOCKETS, *_STORES)
