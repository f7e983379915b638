"""A working forward proxy on loopback, for tunnels and for plain HTTP requests."""

import base64
import http.client
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.probe.relay import running

LOGIN = "alice:hush"


class ForwardProxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, login: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.login = login
        self.refused_period = 0
        """Every tunnel with this number, and its multiples, is refused."""
        self.forwarded: list[str] = []
        """The methods of the requests that were forwarded."""

    def handle_error(self, request, client_address) -> None:
        """Do not log: in these tests, clients close connections on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ForwardProxy

    def do_CONNECT(self) -> None:
        if self._is_authorized() and not self._is_busy():
            host, _, port = self.path.rpartition(":")
            # Only this proxy knows the hosts under .example.
            address = "127.0.0.1" if host.endswith(".example") else host.strip("[]")
            with socket.create_connection((address, int(port))) as upstream:
                self.send_response_only(200, "Connected")
                self.end_headers()
                copy_both_ways(self.connection, upstream)
        self.close_connection = True

    def do_GET(self) -> None:
        if not self._is_authorized():
            return
        target = urlsplit(self.path)
        upstream = http.client.HTTPConnection(target.netloc, timeout=30)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = target._replace(scheme="", netloc="").geturl()
        upstream.request(self.command, path, body or None, dict(self.headers))
        response = upstream.getresponse()
        content = response.read()
        upstream.close()
        self.send_response_only(response.status, response.reason)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def _is_authorized(self) -> bool:
        token = base64.b64encode(self.server.login.encode()).decode()
        if self.headers.get("Proxy-Authorization") == f"Basic {token}":
            self.server.forwarded.append(self.command)
            return True
        self.send_response_only(407)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def _is_busy(self) -> bool:
        period = self.server.refused_period
        if not period or self.server.forwarded.count("CONNECT") % period:
            return False
        self.send_response_only(503, "Busy")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def log_message(self, format: str, *args: object) -> None:
        pass


def copy_both_ways(one: socket.socket, other: socket.socket) -> None:
    """Copy bytes in both directions until one side closes."""
    partner = {one: other, other: one}
    while True:
        for ready in select.select([one, other], [], [])[0]:
            # A TLS socket reads whole records: nothing stays behind in its buffer.
            if not (data := ready.recv(65536)):
                return
            partner[ready].sendall(data)


@contextmanager
def forward_proxy(
    tls: ssl.SSLContext | None = None, login: str = LOGIN
) -> Iterator[ForwardProxy]:
    server = ForwardProxy(login)
    if tls:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    with running(server):
        yield server
