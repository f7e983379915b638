"""A load generator of new TLS connections, one after the other, with a request each.

wrk cannot be told whether to resume a session, and the two handshakes cost a server
very different amounts of work. This one needs about as much CPU as the server, so the
server waits; its CPU time per request is what is measured.

It runs as a separate process: `python -m bench tls-connections` reads the request from
standard input and writes the result as JSON to standard output.
"""

import socket
import ssl
import time

from bench.errors import MeasurementError


def measure(port: int, request: bytes, seconds: float, resume: bool) -> dict[str, int]:
    """Send one request per connection; with `resume`, without a full handshake."""
    context = trusting_context()
    session: ssl.SSLSession | None = None
    requests, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        plain = socket.create_connection(("127.0.0.1", port), 10)
        # The kernel would keep the request back until the handshake is acknowledged.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(plain, session=session) as connection:
            connection.sendall(request)
            response = b""
            while data := connection.recv(65536):
                response += data
            if not response.startswith(b"HTTP/1.1 200"):
                raise MeasurementError(f"a request was refused: {response[:60]!r}")
            if connection.session_reused is not bool(session):
                raise MeasurementError("the handshake was not of the expected kind")
            if resume:  # the server has sent the ticket before its response
                session = connection.session
        requests += 1
    return {"requests": requests}


def trusting_context() -> ssl.SSLContext:
    """Return the context of a client that accepts any certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
