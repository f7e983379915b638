"""OpenID Connect providers that fail in one way each: silent, dripping, endless.

Each is a real server on loopback that counts its requests.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.peers import serving

DISCOVERY = "/.well-known/openid-configuration"
TOKEN = "/token"
# Shorter than any client's timeout between two bytes.
_DRIP_SECONDS = 0.3


class BadProvider(ThreadingHTTPServer):
    """Answers each path as `answers` says, by default with a valid configuration."""

    request_queue_size = 100
    daemon_threads = True

    def __init__(self, answers: dict[str, Callable[["_Handler"], None]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"
        self.answers = answers
        self.stopped = threading.Event()
        self.requests: Counter[str] = Counter()


class _Handler(BaseHTTPRequestHandler):
    server: BadProvider

    def handle(self) -> None:
        with suppress(OSError):  # the client may close at any moment
            super().handle()

    def do_GET(self) -> None:
        self.server.requests[self.path] += 1
        self.server.answers.get(self.path, _describe)(self)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Write nothing; the server counts its requests."""


def _describe(handler: _Handler) -> None:
    issuer = handler.server.issuer
    names = {"authorization_endpoint": "/authorize", "token_endpoint": TOKEN}
    names |= {"jwks_uri": "/keys"}
    document = {name: issuer + path for name, path in names.items()}
    body = json.dumps({"issuer": issuer, **document}).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def silent(handler: _Handler) -> None:
    handler.server.stopped.wait()


def dripping_head(handler: _Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    _drip(handler)


def dripping_body(handler: _Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    _drip(handler)


def _drip(handler: _Handler) -> None:
    while not handler.server.stopped.wait(_DRIP_SECONDS):
        handler.wfile.write(b" ")


def endless(handler: _Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    while not handler.server.stopped.is_set():
        handler.wfile.write(b" " * 65_536)


def sending(answer: bytes) -> Callable[[_Handler], None]:
    return lambda handler: handler.wfile.write(answer)


@contextmanager
def bad_provider(**answers: Callable[[_Handler], None]) -> Iterator[BadProvider]:
    """Run a bad provider; its answers are named `discovery` and `token`."""
    paths = {"discovery": DISCOVERY, "token": TOKEN}
    server = BadProvider({paths[name]: answer for name, answer in answers.items()})
    with serving(server):
        try:
            yield server
        finally:
            server.stopped.set()
