"""Sends and times HTTP requests within a budget; turns errors into `ProbeError`s.

The client follows no redirects and ignores the environment: an earlier step has chosen
the route, which the report shows.
"""

from __future__ import annotations

import http.client
import re
import select
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from readback import __version__
from readback.probe.common.catalogue import has_tag, say
from readback.probe.common.formatting import decimal, sanitize
from readback.probe.common.results import Fact, ProbeError
from readback.probe.entered.key import Secret
from readback.probe.transport import exchanges, opening
from readback.probe.transport.connecting import DeadlineSocket, Route
from readback.probe.transport.exchanges import NotedRequest, ProbeResponse
from readback.probe.transport.handshake import Handshake, secure

# Four times the size of the longest known list of models.
_MAX_READ_BYTES = 2 << 20
_HEADERS = {
    "User-Agent": f"readback-probe/{__version__}",
    "Accept": "application/json",
    # Ask for an uncompressed response, so that a proxy that compresses is detected.
    "Accept-Encoding": "identity",
}
# How nginx refuses a client without a certificate.
_NO_CERTIFICATE = b"No required SSL certificate was sent"
# A status line, possibly malformed.
_STATUS_LINE = re.compile(r"\s*(HTTP/|\S{1,20}/\d(\.\d)? \d{3}\b)", re.IGNORECASE)
# A server that supports only HTTP/2 sends SETTINGS or GOAWAY (RFC 9113 §6).
_HTTP2_FRAME = re.compile(r"\0\0.[\x04\x07]\0", re.DOTALL)
_WINDOW_BITS = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}

OnPart = Callable[[bytes, float], None]
"""Called with each part of a body and the time at which it was received."""


@dataclass
class ProbeClient:
    """An HTTP client that keeps its connection open, as most clients do."""

    route: Route
    trusted: ssl.SSLContext | None
    timeout: float
    budget: exchanges.RequestBudget
    key_destinations: set[str]
    headers: Mapping[str, str]
    _socket: socket.socket | None = field(default=None, init=False)
    _seen: Handshake = field(default_factory=Handshake, init=False)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> ProbeClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self,
        path: str,
        *,
        key: Secret | None = None,
        body: bytes | None = None,
        on_part: OnPart | None = None,
    ) -> ProbeResponse:
        noted = NotedRequest(
            self.route.target.origin,
            "GET" if body is None else "POST",
            path,
            bool(key),
            body or b"",
            {**_HEADERS, **self.headers},
        )
        self.budget.spend()
        try:
            return self._exchange(noted, key, on_part)
        except ProbeError as error:
            noted.error = error.id
            raise
        finally:
            # An error on this machine says nothing about the path.
            if not has_tag(noted.error, "local"):
                self.budget.exchanges.append(noted)

    def _exchange(
        self, noted: NotedRequest, key: Secret | None, on_part: OnPart | None
    ) -> ProbeResponse:
        sock = self._connected(noted)
        started = time.monotonic()
        deadline = started + self.timeout
        wire = DeadlineSocket(sock, deadline)
        connection = self._send(wire, noted, key)
        try:
            response = connection.getresponse()
        except (socket.timeout, TimeoutError):
            raise self._failed("http.silent") from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # RFC 9112 §9.3.1: an idle connection may close at any time; send again.
            if noted.is_reused and isinstance(error, ConnectionError):
                return self._exchange(noted, key, on_part)
            # With TLS 1.3, a missing certificate is refused only after the handshake.
            is_asked = self._seen.asks_for_certificate and not noted.is_reused
            if is_asked and isinstance(error, OSError):
                raise ProbeError("tls.client_certificate") from None
            raise _head_error(error, self.route) from None
        content = self._body(response, wire, on_part)
        ended = time.monotonic()
        if response.will_close:
            self.close()
        proxy = self.route.forwarder
        received = ProbeResponse(
            f"{noted.target}{noted.path}",
            response.status,
            response.headers,
            _decompress(response.headers.get("Content-Encoding"), content),
            ended - started,
            proxy,
            is_cut=len(content) > _MAX_READ_BYTES,
        )
        noted.answered(received)
        if proxy and response.status == 407:
            facts = proxy.facts(self.route.target)
            raise opening.login_error(response.headers, proxy).with_facts(facts)
        if _NO_CERTIFICATE in received.body:
            raise ProbeError("tls.client_certificate")
        return received

    def _connected(self, noted: NotedRequest) -> socket.socket:
        """Return the open connection; open a new one if none is usable."""
        if self._socket is not None and select.select([self._socket], [], [], 0)[0]:
            self.close()
        noted.is_reused = self._socket is not None
        try:
            sock = self._socket = self._socket or self._connect(noted)
        finally:
            noted.certificate = b"".join(self._seen.chain[:1])
        noted.peer = exchanges.peer_address(sock)
        return sock

    def _connect(self, noted: NotedRequest) -> socket.socket:
        target = self.route.target
        self._seen = Handshake()
        try:
            sock = opening.open_socket(self.route, self.timeout)
            if not target.is_encrypted:
                return sock
            noted.peer = exchanges.peer_address(sock)
            assert self.trusted is not None
            return secure(sock, self.trusted, target.host, self._seen)
        except OSError as error:
            noted.is_untrusted = isinstance(error, ssl.SSLCertVerificationError)
            raise opening.failed(self.route, error) from None

    def _send(
        self, sock: DeadlineSocket, noted: NotedRequest, key: Secret | None
    ) -> http.client.HTTPConnection:
        target = self.route.target
        proxy = self.route.forwarder
        headers = {"Host": target.authority, **noted.headers}
        if noted.body:
            headers["Content-Type"] = "application/json"
        if key is not None:
            self.key_destinations.add(self.route.key_destination)
            headers["Authorization"] = f"Bearer {key.reveal()}"
        if proxy:
            headers.update(proxy.authorization)
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.response_class = opening.FinalResponse
        connection.sock = sock
        url = f"{noted.target}{noted.path}" if proxy else noted.path
        try:
            connection.request(noted.method, url, noted.body or None, headers)
        except (socket.timeout, TimeoutError):
            raise self._failed("http.silent") from None
        except OSError:
            pass  # The other side may have responded before it closed the connection.
        return connection

    def _body(
        self,
        response: http.client.HTTPResponse,
        wire: DeadlineSocket,
        on_part: OnPart | None,
    ) -> bytes:
        body = bytearray()
        try:
            while len(body) <= _MAX_READ_BYTES and (part := response.read1(65_536)):
                body += part
                if on_part:
                    on_part(part, wire.received_at)
        except (socket.timeout, TimeoutError):
            raise self._failed("http.stalled") from None
        except (OSError, http.client.HTTPException, ValueError):
            raise self._cut(response, len(body)) from None
        if len(body) > _MAX_READ_BYTES:
            self.close()
        elif response.length:
            raise self._cut(response, len(body))
        return bytes(body)

    def _cut(self, response: http.client.HTTPResponse, received: int) -> ProbeError:
        left = response.length
        count = f"{received}/{received + left}" if left else received
        cut = say("cut_inside", status=response.status, count=count)
        return self._failed("http.cut", cut=cut)

    def _failed(self, finding: str, **facts: Fact) -> ProbeError:
        self.close()
        return ProbeError(finding, timeout=decimal(f"{self.timeout:g}"), **facts)


def _head_error(error: Exception, route: Route) -> ProbeError:
    if isinstance(error, OSError):
        return ProbeError("http.cut", cut=say("cut_before"))
    line = getattr(error, "line", "")
    if line.strip() and not _STATUS_LINE.match(line):
        but = say("only_http2") if _HTTP2_FRAME.match(line) else ""
        return ProbeError("http.not_http", port=route.port, but=but)
    is_first_line = isinstance(error, http.client.BadStatusLine)
    reason = say("bad_first_line") if is_first_line else sanitize(str(error))
    return ProbeError("http.malformed", reason=reason)


def _decompress(coding: str | None, body: bytes) -> bytes:
    bits = _WINDOW_BITS.get((coding or "").strip().lower())
    if bits is None:
        return body
    stream = zlib.decompressobj(bits)
    with suppress(zlib.error):
        content = stream.decompress(body, _MAX_READ_BYTES)
        if stream.eof or len(content) == _MAX_READ_BYTES or not body:
            return content
    raise ProbeError("http.spoiled", how=say("is_garbled"))
