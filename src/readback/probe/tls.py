"""The step "TLS": version, certificate, name and expiry, and who reads along.

Each handshake is made with a store of trusted certificates. First the one that
Python programs use (httpx, and so openai), then this machine's own: where the two
differ, some programs work and others do not.
"""

import base64
import socket
import ssl
import time
from collections.abc import Iterable

import httpx

from readback.probe import certificates, tcp
from readback.probe.address import Address
from readback.probe.certificates import Certificate
from readback.probe.diagnoses import found
from readback.probe.findings import Fact, Finding, Trouble
from readback.probe.proxies import Route
from readback.probe.scene import Scene
from readback.probe.wording import foreign, milliseconds, seconds

_SOON_DAYS = 14
# X509_V_ERR_… of OpenSSL, x509_vfy.h.
_UNTRUSTED = {
    9: "tls.not_yet_valid",
    10: "tls.expired",
    18: "tls.self_signed",
    19: "tls.unknown_issuer",
    20: "tls.unknown_issuer",
    21: "tls.unknown_issuer",
    62: "tls.wrong_name",
    64: "tls.wrong_name",
}


def stores() -> tuple[ssl.SSLContext, ...]:
    return httpx.create_ssl_context(), ssl.create_default_context()


def check(
    scene: Scene, trusted: Iterable[ssl.SSLContext]
) -> tuple[Finding, ssl.SSLContext]:
    """Make a handshake that verifies; give the store with which it did."""
    refusals = []
    for store in trusted:
        try:
            finding = _handshake(scene, store)
        except ssl.SSLCertVerificationError as refusal:
            refusals.append(refusal)
            continue
        return _only_system(finding) if refusals else finding, store
    raise _untrusted(scene, refusals[0])


def speaks_tls(scene: Scene) -> bool:
    try:
        return bool(_unverified(scene))
    except (OSError, Trouble):
        return False


def _handshake(scene: Scene, store: ssl.SSLContext) -> Finding:
    sock = _carrier(scene)
    began = time.monotonic()
    try:
        with store.wrap_socket(sock, server_hostname=scene.address.host) as encrypted:
            taken = time.monotonic() - began
            der = encrypted.getpeercert(binary_form=True) or b""
            version = encrypted.version() or "TLS"
    except ssl.SSLCertVerificationError:
        raise
    except OSError as fault:
        raise _broken(fault, scene) from None
    finally:
        sock.close()
    return _verified(certificates.read(der), version, taken)


def _carrier(scene: Scene) -> socket.socket:
    """Open what the handshake runs over: a connection, or a tunnel through a proxy."""
    try:
        sock = tcp.connect(scene.route, scene.timeout)
    except OSError as fault:
        raise Trouble("http.no_connection", reason=foreign(str(fault))) from None
    if scene.route.proxy_url:
        try:
            _open_tunnel(sock, scene.address, scene.route)
        except BaseException:
            sock.close()
            raise
    return sock


def _open_tunnel(sock: socket.socket, address: Address, route: Route) -> None:
    """Ask the proxy for a tunnel: RFC 9110 §9.3.6."""
    target = f"{address.host}:{address.port}"
    if ":" in address.host:
        target = f"[{address.host}]:{address.port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if route.login:
        token = base64.b64encode(route.login.encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {token}")
    try:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        status_line = _head(sock).partition("\r\n")[0]
    except OSError as fault:
        status_line = str(fault)
    _, _, outcome = status_line.partition(" ")
    if outcome.startswith("407"):
        raise Trouble("proxy.login")
    if not outcome.startswith("2"):
        reason = foreign(outcome) or "it hangs up"
        raise Trouble("proxy.refuses", host=address.host, reason=reason)


def _head(sock: socket.socket) -> str:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < 16384:
        # Byte by byte: what follows the head belongs to the handshake.
        if not (byte := sock.recv(1)):
            break
        head += byte
    return head.decode("latin-1")


def _verified(certificate: Certificate, version: str, taken: float) -> Finding:
    id = "tls.ok"
    if certificate.is_interception:
        id = "tls.intercepted_trusted"
    elif (certificate.days_left or 0) < _SOON_DAYS:
        id = "tls.expires_soon"
    return found(
        id,
        figure=milliseconds(taken),
        version=version.replace("v", " "),
        milliseconds=round(taken * 1000, 3),
        days=certificate.days_left,
        **_facts(certificate),
    )


def _only_system(finding: Finding) -> Finding:
    return found("tls.only_system", figure=finding.figure, **finding.facts)


def _untrusted(scene: Scene, refusal: ssl.SSLCertVerificationError) -> Trouble:
    der = _unverified(scene)
    certificate = certificates.read(der)
    id = _UNTRUSTED.get(refusal.verify_code, "tls.untrusted")
    if id in ("tls.unknown_issuer", "tls.self_signed") and certificate.is_interception:
        id = "tls.intercepted"
    reason = foreign(refusal.verify_message)
    return Trouble(id, host=scene.address.host, reason=reason, **_facts(certificate))


def _unverified(scene: Scene) -> bytes:
    """Get the certificate of whoever answers, to talk about it, not to trust it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        _carrier(scene) as sock,
        context.wrap_socket(sock, server_hostname=scene.address.host) as encrypted,
    ):
        return encrypted.getpeercert(binary_form=True) or b""


def _broken(fault: OSError, scene: Scene) -> Trouble:
    if isinstance(fault, TimeoutError):
        return Trouble("tls.silent", timeout=seconds(scene.timeout))
    reason = getattr(fault, "reason", None) or ""
    if "ALERT" in reason and "VERSION_NUMBER" not in reason:
        return Trouble("tls.refused", reason=foreign(reason.replace("_", " ").lower()))
    if _is_plain_http(scene):
        return Trouble("tls.plain_http", port=scene.address.port)
    is_cut = isinstance(fault, ssl.SSLEOFError) or not isinstance(fault, ssl.SSLError)
    return Trouble("tls.cut" if is_cut else "tls.not_tls", port=scene.address.port)


def _is_plain_http(scene: Scene) -> bool:
    if scene.route.proxy_url:
        return False
    scene.budget.spend()
    return tcp.first_words(scene.route, scene.timeout).startswith(b"HTTP/")


def _facts(certificate: Certificate) -> dict[str, Fact]:
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "since": f"{certificate.since:%Y-%m-%d}" if certificate.since else "?",
        "until": f"{certificate.until:%Y-%m-%d}" if certificate.until else "?",
    }
