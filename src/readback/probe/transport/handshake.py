"""Performs TLS handshakes and records what the server sends, even in failed ones."""

from __future__ import annotations

import re
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from readback.probe.transport import opening
from readback.probe.transport.connecting import Route
from readback.probe.transport.exchanges import peer_address

# RFC 8446 §4, §5.1 and §6: the numbers of the messages that matter here.
_ALERT = 21
_HANDSHAKE = 22
_FATAL = b"\x02"
_SERVER_HELLO = 2
_CERTIFICATE = 11
_CERTIFICATE_REQUEST = 13

# Python wraps OpenSSL's message in the error's name and a C file and line number.
_PLACE = re.compile(r"^\[[^]]*\] | \(_ssl\.c:\d+\)$")

# Most clients offer only this; a server that supports only HTTP/2 refuses it.
_PROTOCOLS = ["http/1.1"]


@dataclass
class Handshake:
    """The data that arrived, and the error that ended the handshake, if any."""

    chain: list[bytes] = field(default_factory=list)
    """The certificates as the server sent them (DER), its own first."""
    is_answered: bool = False
    """Whether the server answered with a ServerHello."""
    is_refused: bool = False
    """Whether the server ended the handshake with an alert."""
    asks_for_certificate: bool = False
    peer: str = ""
    version: str = ""
    seconds: float = 0.0
    error: OSError | None = None
    strict_error: ssl.SSLCertVerificationError | None = None
    """Why Python 3.13's strict rules, and only they, refuse the certificate."""

    @property
    def verification_error(self) -> ssl.SSLCertVerificationError | None:
        is_verification = isinstance(self.error, ssl.SSLCertVerificationError)
        return self.error if is_verification else None  # type: ignore[return-value]

    @property
    def reason(self) -> str:
        """The error as OpenSSL describes it, without Python's additions."""
        return _PLACE.sub("", str(self.error))

    @property
    def is_late(self) -> bool:
        return isinstance(self.error, (socket.timeout, TimeoutError))

    def note(self, *reported: Any) -> None:
        """Record a message; OpenSSL reports each one, even if the handshake fails."""
        direction, _version, content, message_type, message = reported
        if direction != "read":
            return
        self.is_refused |= content == _ALERT and message[:1] == _FATAL
        if content != _HANDSHAKE:
            return
        self.is_answered |= message_type == _SERVER_HELLO
        self.asks_for_certificate |= message_type == _CERTIFICATE_REQUEST
        if message_type == _CERTIFICATE:
            self.chain = _read_chain(message)


def shake(
    route: Route, trust: ssl.SSLContext, timeout: float, name: str | None
) -> Handshake:
    try:
        sock = opening.open_socket(route, timeout)
    except OSError as error:
        raise opening.failed(route, error) from None
    seen = Handshake(peer=peer_address(sock))
    started = time.monotonic()
    try:
        with secure(sock, trust, name, seen) as encrypted:
            seen.seconds = time.monotonic() - started
            seen.version = (encrypted.version() or "TLS").replace("v", " ")
            seen.chain = seen.chain or [encrypted.getpeercert(True) or b""]
            seen.is_answered = True
    except OSError as error:
        seen.error = error
    return seen


def secure(
    sock: socket.socket, trust: ssl.SSLContext, name: str | None, seen: Handshake
) -> ssl.SSLSocket:
    """Perform the handshake; record its messages (reported by CPython 3.8 to 3.14)."""
    with suppress(AttributeError):
        trust._msg_callback = _note  # type: ignore[attr-defined]
    encrypted = trust.wrap_socket(
        sock, server_hostname=name, do_handshake_on_connect=False
    )
    encrypted.seen = seen  # type: ignore[attr-defined]
    try:
        encrypted.do_handshake()
    except OSError:
        encrypted.close()
        raise
    return encrypted


def _note(connection: Any, *reported: Any) -> None:
    connection.seen.note(*reported)


def _read_chain(message: bytes) -> list[bytes]:
    """Return the certificates in a message (RFC 5246 §7.4.2, RFC 8446 §4.4.2)."""
    # TLS 1.3 has an empty context after type and length, and extensions after each
    # certificate. The length of the list shows which version it is.
    is_tls_1_2 = len(message) == 7 + int.from_bytes(message[4:7], "big")
    position = 7 if is_tls_1_2 else 8
    chain = []
    while position + 3 <= len(message):
        start = position + 3
        position = start + int.from_bytes(message[position:start], "big")
        chain.append(message[start:position])
        if not is_tls_1_2:
            position += 2 + int.from_bytes(message[position : position + 2], "big")
    return chain


def new_context() -> ssl.SSLContext:
    """Return a context that verifies the server but trusts no authority yet."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # The default since Python 3.10.
    trust.minimum_version = ssl.TLSVersion.TLSv1_2
    trust.set_alpn_protocols(_PROTOCOLS)
    return trust


def unverified() -> ssl.SSLContext:
    """Return a context that accepts any certificate; use it only for diagnosis."""
    trust = new_context()
    trust.check_hostname = False
    trust.verify_mode = ssl.CERT_NONE
    return trust
