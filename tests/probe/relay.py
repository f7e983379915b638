"""A reverse proxy on loopback that can be made to misbehave.

It sits between the probe and a real Readback server, receives whole messages, and
passes each request and each response through a function that may change it.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from urllib.parse import urlsplit

Headers = dict[str, str]


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes


@dataclass(frozen=True)
class Response:
    status: int
    reason: str
    headers: Headers
    body: bytes
    version: str = "HTTP/1.1"
    before: bytes = b""
    """Interim responses, sent before this one."""

    def with_body(self, body: bytes, **headers: str) -> "Response":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, body=body, headers=self.headers | named)

    def with_content(self, change: Callable[[str], str]) -> "Response":
        """Return a copy with changed text, if the response is a completion."""
        if b"chat.completion" not in self.body:
            return self
        content = json.loads(self.body)
        message = content["choices"][0]["message"]
        message["content"] = change(message["content"])
        return self.with_body(json.dumps(content, ensure_ascii=False).encode())


# A request filter may also respond itself.
RequestFilter = Callable[[Request], Request | Response]
ResponseFilter = Callable[[Response], Response]


def unchanged(message):
    return message


class Relay(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, upstream: str, host: str, on_request, on_response, port: int = 0
    ) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)
        self.upstream = urlsplit(upstream)
        self.on_request = on_request
        self.on_response = on_response
        self.count = 0

    def handle_error(self, request, client_address) -> None:
        """Do not log: in these tests, clients close connections on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Relay

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        self.server.count += 1
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, self.path, dict(self.headers), body)
        response = self.server.on_response(_forward(self.server, request))
        self._write(response)

    def _write(self, response: Response) -> None:
        # A filter may have set a wrong length on purpose; otherwise add the right one.
        headers = {"Content-Length": str(len(response.body))} | response.headers
        lines = [f"{response.version} {response.status} {response.reason}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode()
        self.wfile.write(response.before + head + response.body)
        if headers.get("Connection") == "close":
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


def _forward(server: Relay, request: Request) -> Response:
    request = server.on_request(request)
    if isinstance(request, Response):
        return request
    upstream = http.client.HTTPConnection(server.upstream.netloc, timeout=30)
    # http.client sets these headers itself.
    headers = {
        name: value
        for name, value in request.headers.items()
        if name.lower() not in ("host", "content-length", "connection")
    }
    upstream.request(request.method, request.target, request.body or None, headers)
    response = upstream.getresponse()
    body = response.read()
    upstream.close()
    # Without Link the probe does not look for a cabinet, which would not know the
    # relay's address.
    kept = {
        name: value
        for name, value in response.headers.items()
        if name not in ("Content-Length", "Link")
    }
    return Response(response.status, response.reason, kept, body)


@contextmanager
def running(server: BaseServer) -> Iterator[None]:
    """Serve in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def relay(
    upstream: str,
    on_request: RequestFilter = unchanged,
    on_response: ResponseFilter = unchanged,
    *,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
) -> Iterator[Relay]:
    """Run a relay in front of the upstream base URL."""
    server = Relay(upstream, host, on_request, on_response)
    if tls:
        # Do the handshake in the handler's thread, because it may hang or fail.
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    with running(server):
        yield server
