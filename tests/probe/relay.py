"""A reverse proxy on loopback that can be told to misbehave.

It stands between the probe and a real Readback, takes whole messages, and lets two
functions change what goes in and what comes out.
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
from urllib.parse import urlsplit

Headers = dict[str, str]


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: Headers
    body: bytes

    def saying(self, body: bytes, **headers: str) -> "Answer":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, body=body, headers=self.headers | named)

    def with_content(self, change: Callable[[str], str]) -> "Answer":
        """Change the text that is read back; leave everything else alone."""
        if b"chat.completion" not in self.body:
            return self
        said = json.loads(self.body)
        message = said["choices"][0]["message"]
        message["content"] = change(message["content"])
        return self.saying(json.dumps(said, ensure_ascii=False).encode())


ToRequest = Callable[[Request], Request]
ToAnswer = Callable[[Answer], Answer]


def unchanged(message):
    return message


class Relay(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, upstream: str, host: str, on_request, on_answer) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, 0), _Handler)
        self.upstream = urlsplit(upstream)
        self.on_request = on_request
        self.on_answer = on_answer
        self.count = 0

    def handle_error(self, request, client_address) -> None:
        """Be silent: that clients hang up is what these tests are about."""


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
        answer = self.server.on_answer(_forward(self.server, request))
        self._write(answer)

    def _write(self, answer: Answer) -> None:
        # The length is set last unless mischief has set a wrong one on purpose.
        headers = {"Content-Length": str(len(answer.body))} | answer.headers
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + answer.body)
        if headers.get("Connection") == "close":
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


def _forward(server: Relay, request: Request) -> Answer:
    request = server.on_request(request)
    upstream = http.client.HTTPConnection(server.upstream.netloc, timeout=30)
    # The length follows from the body, and the host from the connection.
    headers = {
        name: value
        for name, value in request.headers.items()
        if name.lower() not in ("host", "content-length", "connection")
    }
    upstream.request(request.method, request.target, request.body or None, headers)
    answer = upstream.getresponse()
    body = answer.read()
    upstream.close()
    # Without Link the probe does not compare with a cabinet that never heard of us.
    kept = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("Content-Length", "Link")
    }
    return Answer(answer.status, answer.reason, kept, body)


@contextmanager
def relay(
    upstream: str,
    on_request: ToRequest = unchanged,
    on_answer: ToAnswer = unchanged,
    *,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
) -> Iterator[Relay]:
    """Run a relay; `url` is the base address to probe."""
    server = Relay(upstream, host, on_request, on_answer)
    if tls:
        # The handshake belongs into the handler's thread: it may hang or fail.
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
