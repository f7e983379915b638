"""A forward proxy on loopback that does its work: tunnels, and requests in plain."""

import base64
import http.client
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

LOGIN = "alice:hush"


class Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.passed: list[str] = []
        """The methods of what went through."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def do_CONNECT(self) -> None:
        if self._is_let_in():
            host, _, port = self.path.rpartition(":")
            with socket.create_connection((host.strip("[]"), int(port))) as upstream:
                self.send_response_only(200, "Connected")
                self.end_headers()
                _join(self.connection, upstream)
        self.close_connection = True

    def do_GET(self) -> None:
        if not self._is_let_in():
            return
        target = urlsplit(self.path)
        upstream = http.client.HTTPConnection(target.netloc, timeout=30)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = target._replace(scheme="", netloc="").geturl()
        upstream.request(self.command, path, body or None, dict(self.headers))
        answer = upstream.getresponse()
        said = answer.read()
        upstream.close()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_GET

    def _is_let_in(self) -> bool:
        token = base64.b64encode(LOGIN.encode()).decode()
        if self.headers.get("Proxy-Authorization") == f"Basic {token}":
            self.server.passed.append(self.command)
            return True
        self.send_response_only(407)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def log_message(self, format: str, *args: object) -> None:
        pass


def _join(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until one side is done."""
    partner = {one: other, other: one}
    while True:
        for ready in select.select([one, other], [], [])[0]:
            if not (data := ready.recv(65536)):
                return
            partner[ready].sendall(data)


@contextmanager
def forward_proxy() -> Iterator[Proxy]:
    server = Proxy()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
