"""TLS for a listener that also recognises a client that does not use TLS.

OpenSSL would close the connection of such a client, which then reports an empty reply.
Here its bytes are passed on as they are, so that `TlsConnection` can refuse it with an
answer that it understands. Nothing else is ever sent without encryption.

    first bytes                what follows
    -------------------------  ------------------------------------------------
    a letter: an HTTP method   no handshake and no encryption; `plaintext` is set
    anything else              OpenSSL's handshake

No TLS record begins with a letter (RFC 8446 §5.1).
"""

import asyncio
import ssl
from pathlib import Path
from typing import Any

from readback.api.http.connection import Connection
from readback.api.http.receive_buffer import ReceiveBuffer
from readback.api.http.refused import MALFORMED_REQUEST
from readback.api.http.states import LINGER

_NOT_TLS = (
    "This port uses TLS, but the request was sent as plain HTTP; use https:// instead "
    "of http:// in the base URL."
)
# This many bytes tell HEAD, whose answer has no body, from any other method.
_ENOUGH_BYTES = len(b"HEAD ")


class TlsContext(ssl.SSLContext):
    """The TLS settings of a listener. It offers HTTP/1.1 to clients that ask (ALPN)."""

    def __new__(cls, certificate: Path, key: Path) -> "TlsContext":
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, certificate: Path, key: Path) -> None:
        self.sslobject_class = _TlsOrPlaintext
        self.load_cert_chain(certificate, key)
        # RFC 7301 §3.2 would end the handshake if a client offers only other protocols.
        # Like OpenSSL's other users, we go on without; the client may speak HTTP/1.1.
        self.set_alpn_protocols(["http/1.1"])

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        *args: Any,
        **kwargs: Any,
    ) -> ssl.SSLObject:
        wrapped = super().wrap_bio(incoming, outgoing, *args, **kwargs)
        assert isinstance(wrapped, _TlsOrPlaintext)
        wrapped.bios = incoming, outgoing
        return wrapped


class TlsConnection(Connection):
    """A connection to a port for TLS; one without encryption is refused."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        beginning = transport.get_extra_info("ssl_object").plaintext
        if beginning and self._state != LINGER:
            self._buffer = ReceiveBuffer()
            self._buffer.append(beginning)
            self._send(self._refusal(MALFORMED_REQUEST, _NOT_TLS), last=True)
            self._settle()


class _TlsOrPlaintext(ssl.SSLObject):
    bios: tuple[ssl.MemoryBIO, ssl.MemoryBIO]
    plaintext = b""
    _is_tls = False

    def do_handshake(self) -> None:
        incoming, outgoing = self.bios
        if self._is_tls or not incoming.pending:
            return super().do_handshake()
        received = self.plaintext + incoming.read()
        if not received[:1].isalpha():
            self._is_tls = True
            incoming.write(received)
            return super().do_handshake()
        self.plaintext = received[:_ENOUGH_BYTES]
        if len(received) < _ENOUGH_BYTES:
            raise ssl.SSLWantReadError
        # `SSLObject` leaves everything to this attribute. Overriding `read` and `write`
        # instead would make each request over TLS slower.
        self._sslobj = _Unencrypted(incoming, outgoing)
        return None


class _Unencrypted:
    """What `SSLObject` expects of OpenSSL, without any encryption."""

    def __init__(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self._incoming = incoming
        self.write = outgoing.write

    def read(self, size: int) -> bytes:
        if not self._incoming.pending:
            raise ssl.SSLWantReadError
        return self._incoming.read(size)

    def pending(self) -> int:
        return 0

    def shutdown(self) -> None:
        """End at once: there is nothing to tell the client."""

    def getpeercert(self, binary_form: bool) -> None:
        return None

    cipher = compression = lambda self: None
