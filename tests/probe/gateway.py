"""A gateway in front of a Readback server, with a behaviour that each test chooses.

A behaviour is a function that takes a request and returns a reply. The behaviours
below can be combined, as in `every(3, answering(502))`. With `proxying()`, the gateway
is a forward proxy.
"""

import http.client
import itertools
import json
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from email.utils import formatdate
from socketserver import BaseRequestHandler, BaseServer, ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

Fields = tuple[tuple[str, str], ...]
_NEVER = threading.Event()
_HANG_SECONDS = 90.0
# http.client and `_write` set these themselves.
_FRAMING = ("content-length", "connection", "transfer-encoding", "expect")

at_home: Callable[[], AbstractContextManager[None]] = nullcontext
"""Enters the service's network if this process has moved to another network."""


class Reset(Exception):
    """Raised to end the connection with a TCP reset instead of a reply."""


class Close(Exception):
    """Raised to end the connection without a reply."""


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    gateway: "Gateway"
    number: int
    """Its position among all requests, starting at 1."""
    connection: int
    """The position of its connection among all connections, starting at 1."""
    place: int
    """Its position on that connection, starting at 1."""
    method: str
    target: str
    fields: Fields
    body: bytes

    def __getitem__(self, name: str) -> str:
        """Return the value of a field, or an empty string."""
        found = (v for k, v in self.fields if k.lower() == name.lower())
        return next(found, "")

    def with_field(self, name: str, *values: str) -> "Call":
        """Replace a field; without values, remove it."""
        kept = tuple(field for field in self.fields if field[0].lower() != name.lower())
        return replace(self, fields=(*kept, *((name, value) for value in values)))


@dataclass(frozen=True)
class Reply:
    status: int
    reason: str = "OK"
    fields: Fields = ()
    body: bytes = b""
    version: str = "HTTP/1.1"
    before: bytes = b""
    """Bytes sent before the status line, such as an interim response."""
    keep: int | None = None
    """How many bytes of the body are sent before the connection is closed."""
    pause: float = 0.0
    """Seconds to wait before each piece of the body."""
    piece: int = 1 << 20
    is_framed: bool = True
    tunnel_to: tuple[str, int] | None = None

    def __getitem__(self, name: str) -> str:
        found = (v for k, v in self.fields if k.lower() == name.lower())
        return next(found, "")

    def with_field(self, name: str, *values: str) -> "Reply":
        kept = tuple(field for field in self.fields if field[0].lower() != name.lower())
        return replace(self, fields=(*kept, *((name, value) for value in values)))


Behavior = Callable[[Call], Reply]
Match = Callable[[Call], object]


class Gateway(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(
        self,
        upstream: str,
        behave: Behavior,
        address: tuple[str, int] = ("127.0.0.1", 0),
        tls: Sequence[ssl.SSLContext] = (),
    ) -> None:
        """Use the TLS contexts in turn, one for each connection."""
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)
        self.upstream = urlsplit(upstream)
        self.behave = behave
        self.tls = tls
        self.calls = itertools.count(1)
        self.connections = itertools.count(1)
        self.lock = threading.Lock()
        self.kept: dict[Any, Any] = {}
        """Replies and texts that behaviours keep for later requests."""

    @property
    def port(self) -> int:
        return self.server_address[1]

    @property
    def base_url(self) -> str:
        origin = "https://localhost" if self.tls else "http://127.0.0.1"
        return f"{origin}:{self.port}/v1"

    def handle_error(self, request, client_address) -> None:
        """Do not log: these connections end in unusual ways on purpose."""


class _Handler(BaseRequestHandler):
    server: Gateway
    request: socket.socket

    def handle(self) -> None:
        number = next(self.server.connections)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if contexts := self.server.tls:
                context = contexts[number % len(contexts)]
                self.request = context.wrap_socket(self.request, server_side=True)
            with self.request.makefile("rb") as stream:
                place = 1
                while self._answer_one(stream, number, place):
                    place += 1
        except Reset:
            # With a linger time of 0, close() sends a TCP reset.
            linger = struct.pack("ii", 1, 0)
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.request.close()
        except (Close, OSError):
            pass

    def finish(self) -> None:
        # With TLS, this is not the socket that the server closes.
        self.request.close()

    def _answer_one(self, stream: Any, connection: int, place: int) -> bool:
        """Answer a request; return whether another one may follow."""
        first = stream.readline().decode("latin-1").split()
        # TLS bytes may split into three words, but the third never starts with HTTP/.
        if len(first) != 3 or not first[2].startswith("HTTP/"):
            return False
        fields = []
        while line := stream.readline().strip(b"\r\n"):
            name, _, value = line.decode("latin-1").partition(":")
            fields.append((name, value.strip()))
        call = Call(
            self.server,
            next(self.server.calls),
            connection,
            place,
            first[0],
            first[1],
            tuple(fields),
            b"",
        )
        if call["Expect"].lower() == "100-continue":
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = stream.read(int(call["Content-Length"] or 0))
        reply = self.server.behave(replace(call, body=body))
        return _write(self.request, reply) and call["Connection"] != "close"


def _write(sock: socket.socket, reply: Reply) -> bool:
    """Send a reply; return whether the connection stays open."""
    if reply.tunnel_to:
        with at_home(), socket.create_connection(reply.tunnel_to) as far:
            sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with suppress(OSError):
                copy_both_ways(sock, far)
        return False
    if reply.is_framed and not reply["Content-Length"]:
        reply = reply.with_field("Content-Length", str(len(reply.body)))
    lines = [f"{reply.version} {reply.status} {reply.reason}"]
    lines += [f"{name}: {value}" for name, value in reply.fields]
    head = "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")
    head = reply.before + head
    body = reply.body if reply.keep is None else reply.body[: reply.keep]
    if not reply.pause and len(body) <= reply.piece:
        sock.sendall(head + body)  # together, as servers do
    else:
        sock.sendall(head)
        for start in range(0, len(body), reply.piece):
            time.sleep(reply.pause)
            sock.sendall(body[start : start + reply.piece])
    is_open = reply.is_framed and reply.keep is None
    return is_open and reply["Connection"].lower() != "close"


# Behaviours, and functions that make them.


def pass_on(call: Call, upstream: str = "") -> Reply:
    """Forward the request to the service, or to the server at `upstream`."""
    netloc = upstream or call.gateway.upstream.netloc
    connection = http.client.HTTPConnection(netloc, timeout=60)
    try:
        with at_home():
            connection.connect()
        connection.putrequest(
            call.method, call.target, skip_host=True, skip_accept_encoding=True
        )
        for name, value in call.fields:
            if name.lower() not in _FRAMING:
                connection.putheader(name, value)
        if call.body or call.method == "POST":
            connection.putheader("Content-Length", str(len(call.body)))
        connection.endheaders(call.body)
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    # Remove the Link header: the cabinet that it names does not know this gateway.
    fields = tuple(
        (k, v) for k, v in response.getheaders() if k.lower() not in (*_FRAMING, "link")
    )
    return Reply(response.status, response.reason, fields, body)


def answering(status: int, body: bytes = b"", reason: str = "OK", **fields: str):
    """Send the same answer to every request."""
    named = tuple((name.replace("_", "-"), value) for name, value in fields.items())
    return lambda call: Reply(status, reason, named, body)


def page(status: int, title: str, text: str = "", **fields: str) -> Behavior:
    body = f"<!doctype html><html><head><title>{title}</title></head><body><h1>{title}"
    body += f"</h1><p>{text}</p></body></html>"
    return answering(
        status,
        body.encode(),
        **{"Content_Type": "text/html", "Server": "nginx"} | fields,
    )


def as_json(status: int, content: object, **fields: str) -> Behavior:
    body = json.dumps(content).encode()
    return answering(status, body, **{"Content_Type": "application/json"} | fields)


def resetting(call: Call) -> Reply:
    raise Reset


def closing(call: Call) -> Reply:
    raise Close


def hanging(call: Call) -> Reply:
    _NEVER.wait(_HANG_SECONDS)
    raise Close


def every(n: int, other: Behavior, usual: Behavior = pass_on) -> Behavior:
    """Behave differently for every nth request."""
    return when(lambda call: call.number % n == 0, other, usual)


def on_every_connection(n: int, other: Behavior, usual: Behavior = pass_on) -> Behavior:
    """Behave differently for every nth connection."""
    return when(lambda call: call.connection % n == 0, other, usual)


def when(match: Match, other: Behavior, usual: Behavior = pass_on) -> Behavior:
    return lambda call: other(call) if match(call) else usual(call)


def has_key(call: Call) -> bool:
    return bool(call["Authorization"])


def is_chat(call: Call) -> bool:
    return call.target.endswith("/chat/completions")


def is_models(call: Call) -> bool:
    return call.target.endswith("/models")


def rewriting(change: Callable[[Call], Call], then: Behavior = pass_on) -> Behavior:
    return lambda call: then(change(call))


def rewriting_body(change: Callable[[bytes], bytes]) -> Behavior:
    return rewriting(
        lambda call: replace(call, body=change(call.body)) if call.body else call
    )


def rewriting_json(change: Callable[[dict], None]) -> Behavior:
    """Let `change` edit the parsed body of each request in place."""

    def rewrite(body: bytes) -> bytes:
        content = json.loads(body)
        change(content)
        return json.dumps(content, ensure_ascii=False).encode()

    return rewriting_body(rewrite)


def editing(change: Callable[[Reply], Reply], then: Behavior = pass_on) -> Behavior:
    return lambda call: change(then(call))


def editing_body(change: Callable[[bytes], bytes]) -> Behavior:
    return editing(lambda reply: replace(reply, body=change(reply.body)))


def editing_json(change: Callable[[dict], None], *, completions: bool = True):
    """Let `change` edit the parsed body of each reply in place."""

    def edit(body: bytes) -> bytes:
        if completions and b"chat.completion" not in body:
            return body
        content = json.loads(body)
        change(content)
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()

    return editing_body(edit)


def editing_text(change: Callable[[str], str]) -> Behavior:
    """Change the text of each completion."""

    def edit(content: dict) -> None:
        message = content["choices"][0]["message"]
        message["content"] = change(message["content"])

    return editing_json(edit)


def with_fields(**fields: str) -> Behavior:
    """Set these header fields in each reply."""

    def add(reply: Reply) -> Reply:
        for name, value in fields.items():
            reply = reply.with_field(name.replace("_", "-"), value)
        return reply

    return editing(add)


def dated(seconds: float) -> Behavior:
    """Set the Date of each reply from a clock that is this many seconds ahead."""

    def change(reply: Reply) -> Reply:
        return reply.with_field("Date", formatdate(time.time() + seconds, usegmt=True))

    return editing(change)


def after(seconds: float, then: Behavior = pass_on) -> Behavior:
    """Wait before each reply."""

    def behave(call: Call) -> Reply:
        time.sleep(seconds)
        return then(call)

    return behave


def in_turn(*behaviors: Behavior) -> Behavior:
    """Rotate through the behaviours, one for each request."""
    return lambda call: behaviors[call.number % len(behaviors)](call)


def first(n: int, early: Behavior, later: Behavior = pass_on) -> Behavior:
    """Treat the first n requests differently from later ones."""
    return when(lambda call: call.number <= n, early, later)


def cached(then: Behavior = pass_on, key: Callable[[Call], Any] | None = None):
    """Repeat the first reply to each method and target, or to each `key`."""
    key = key or (lambda call: (call.method, call.target))

    def behave(call: Call) -> Reply:
        kept, name = call.gateway.kept, key(call)
        with call.gateway.lock:
            if name not in kept:
                kept[name] = then(call)
            return kept[name]

    return behave


def swapped(call: Call) -> Reply:
    """Put the text of each completion into the next completion."""

    def change(text: str) -> str:
        with call.gateway.lock:
            previous = call.gateway.kept.get("text", text)
            call.gateway.kept["text"] = text
        return previous

    return editing_text(change)(call)


def forwarding(call: Call) -> Reply:
    """Pass on a plain request, as a forward proxy does."""
    target = urlsplit(call.target)
    plain = replace(call, target=target._replace(scheme="", netloc="").geturl())
    return pass_on(plain)


def tunneling(port: int | None = None) -> Behavior:
    """Answer CONNECT with a tunnel, which always leads to a port on this machine."""

    def behave(call: Call) -> Reply:
        asked = call.target.rpartition(":")[2]
        return Reply(200, tunnel_to=("127.0.0.1", port or int(asked)))

    return behave


def proxying(port: int | None = None) -> Behavior:
    """Act as a working forward proxy."""
    return when(lambda call: call.method == "CONNECT", tunneling(port), forwarding)


def copy_both_ways(one: socket.socket, other: socket.socket) -> None:
    """Copy bytes in both directions until one side closes."""
    partner = {one: other, other: one}
    while True:
        for ready in select.select([one, other], [], [])[0]:
            # recv() reads whole TLS records, so select() cannot miss buffered data.
            if not (data := ready.recv(65536)):
                return
            partner[ready].sendall(data)


@contextmanager
def running(server: BaseServer) -> Iterator[None]:
    """Run the server in its own thread."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def gateway(upstream: str, behave: Behavior = pass_on, **options: Any):
    server = Gateway(upstream, behave, **options)
    with running(server):
        yield server
