"""A relay between a client and the server that records what passes through it.

It can also add a field or a header on the way, or answer every request with the same
bytes instead of passing it on.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from readback.contract import VERSION_PREFIX

UPSTREAM_SECONDS = 60
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}
# An operator would see all of it; the page needs only to tell programs apart.
_SHOWN_ERROR_BYTES = 10_000


@dataclass(frozen=True)
class Request:
    """One request as it arrived, and how it was answered. Never the text."""

    method: str
    path: str
    user_agent: str
    fields: list[str]
    status: int
    code: str


@dataclass
class Treatment:
    """What the relay does to the requests of a call."""

    added_fields: dict[str, Any] = field(default_factory=dict)
    added_headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b""


class Relay:
    """Listens on 127.0.0.1 and passes each request on to the server."""

    def __init__(self, server_url: str) -> None:
        self._upstream = urlsplit(server_url)
        self._lock = Lock()
        self._requests: list[Request] = []
        self.treatment = Treatment()
        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._listener.daemon_threads = True

    @property
    def base_url(self) -> str:
        return f"{self.root_url}{VERSION_PREFIX}"

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_port}"

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._listener.shutdown()
            thread.join()
            self._listener.server_close()

    def take(self) -> list[Request]:
        """Return the requests that have arrived since the last call of this."""
        with self._lock:
            taken, self._requests = self._requests, []
        return taken

    def pass_on(
        self, handler: BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, str, list[tuple[str, str]], bytes]:
        """Send a request to the server; return status, reason, headers and body."""
        assert self._upstream.hostname
        upstream = HTTPConnection(
            self._upstream.hostname, self._upstream.port, timeout=UPSTREAM_SECONDS
        )
        try:
            upstream.putrequest(
                handler.command, handler.path, skip_host=True, skip_accept_encoding=True
            )
            added = self.treatment.added_headers
            for name, value in [*handler.headers.items(), *added.items()]:
                if name.lower() not in _HOP_BY_HOP:
                    upstream.putheader(name, value)
            if body or handler.command == "POST":
                upstream.putheader("Content-Length", str(len(body)))
            upstream.endheaders(body)
            answer = upstream.getresponse()
            return answer.status, answer.reason, answer.getheaders(), answer.read()
        finally:
            upstream.close()

    def pass_on_bytes(
        self, head: bytes
    ) -> tuple[int, str, list[tuple[str, str]], bytes]:
        """Send a head as it is: the parser of this relay would repair it."""
        address = (self._upstream.hostname, self._upstream.port)
        with socket.create_connection(address, UPSTREAM_SECONDS) as upstream:
            upstream.sendall(head)
            answer = HTTPResponse(upstream)
            answer.begin()
            return answer.status, answer.reason, answer.getheaders(), answer.read()

    def record(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (_Handler,), {"relay": self})


class _Lines:
    """The lines that a handler reads as the head of a request."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.head: list[bytes] = []
        self.read = file.read
        self.close = file.close

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self._file.readline(limit)
        self.head.append(line)
        return line


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    relay: Relay

    def setup(self) -> None:
        super().setup()
        self.rfile: Any = _Lines(self.rfile)

    def handle_one_request(self) -> None:
        self.rfile.head.clear()
        super().handle_one_request()

    def do_GET(self) -> None:
        self._relay()

    def do_POST(self) -> None:
        self._relay()

    def do_OPTIONS(self) -> None:
        self._relay()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the progress of the run is on this terminal."""

    def _relay(self) -> None:
        treatment = self.relay.treatment
        head = self.rfile.head
        if not all(line.endswith(b"\r\n") for line in head):
            self._answer([], *self.relay.pass_on_bytes(b"".join(head)))
            self.close_connection = True
            return
        body = self._body()
        fields = _fields(body)
        if treatment.answer:
            self._replay(fields, treatment.answer)
            return
        if treatment.added_fields and fields:
            body = json.dumps(json.loads(body) | treatment.added_fields).encode()
        self._answer(fields, *self.relay.pass_on(self, body))

    def _answer(
        self,
        fields: list[str],
        status: int,
        reason: str,
        headers: list[tuple[str, str]],
        answer: bytes,
    ) -> None:
        self._record(fields, status, answer)
        self.send_response_only(status, reason)
        for name, value in headers:
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _replay(self, fields: list[str], answer: bytes) -> None:
        head, _, body = answer.partition(b"\r\n\r\n")
        self._record(fields, int(head.split()[1]), body)
        self.wfile.write(answer)
        self.close_connection = b"\r\nconnection: close" in head.lower()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return bytes(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def _record(self, fields: list[str], status: int, answer: bytes) -> None:
        self.relay.record(
            Request(
                method=self.command,
                path=self.path,
                user_agent=self.headers.get("User-Agent", ""),
                fields=fields,
                status=status,
                code=_code(answer),
            )
        )


def _fields(body: bytes) -> list[str]:
    """Return the names of the fields of a body; none if it is not a JSON object."""
    try:
        read = json.loads(body)
    except ValueError:
        return []
    return list(read) if isinstance(read, dict) else []


def _code(answer: bytes) -> str:
    """Return the code of an error; empty for an answer that is not one."""
    try:
        return str(json.loads(answer[:_SHOWN_ERROR_BYTES])["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""
