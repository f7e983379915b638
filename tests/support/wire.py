"""An HTTP/1.1 client that sends exact bytes and reads answers strictly.

A client library corrects what it sends and tolerates what it reads. Here, the test
decides every byte, and an answer that is not well-formed fails the test.
"""

import re
import select
import socket
import ssl
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from tests.support.waiting import PATIENCE

SEGMENT_GAP = 0.002
"""Seconds between two sends that the server must receive separately."""

Fields = Sequence[tuple[str, str | bytes]]

_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) ([\x20-\x7e]*)")
_FIELD_LINE = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)"
)


class BrokenAnswer(AssertionError):
    """The server sent something that is not exactly one well-formed answer."""


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes
    head: bytes = field(repr=False)
    """The status line and the header lines as they were received."""

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """Return the value of a header that must not be repeated."""
        values = self.all(name)
        if len(values) > 1:
            raise BrokenAnswer(f"{name} appears {len(values)} times: {values}")
        return values[0] if values else None


@dataclass(frozen=True)
class Endpoint:
    """Where a server listens."""

    host: str
    port: int
    tls: bool = False

    @classmethod
    def of(cls, url: str) -> Self:
        parts = urlsplit(url)
        tls = parts.scheme == "https"
        return cls(parts.hostname or "", parts.port or (443 if tls else 80), tls)

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def connect(self, patience: float = PATIENCE) -> "Connection":
        sock = socket.create_connection((self.host, self.port), timeout=patience)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.create_default_context()
            sock = context.wrap_socket(sock, server_hostname=self.host)
        return Connection(sock)


class Connection:
    """One connection; answers are read in the order in which they arrive."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._unread = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._sock.close()

    def send(self, data: bytes) -> None:
        # A server may answer and close while we are still sending. What matters is that
        # its answer can be read.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._sock.sendall(data)

    def send_in_segments(self, *pieces: bytes, gap: float = SEGMENT_GAP) -> None:
        """Send pieces so far apart that the server receives them one by one.

        A client cannot know when the server has read a piece. If the gap is too short,
        the test covers less, but it does not fail.
        """
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(gap)
            self.send(piece)

    def has_bytes(self) -> bool:
        """Return whether there is something to read, or the end of the stream."""
        readable, _, _ = select.select([self._sock], [], [], 0)
        return bool(readable)

    def finish_sending(self) -> None:
        """Close the sending half; TLS has no half-close that every server supports."""
        if isinstance(self._sock, ssl.SSLSocket):
            return
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def read_answer(self, *, bodiless: bool = False) -> Answer:
        """Read one answer; `bodiless` if the request was HEAD (RFC 9110 §9.3.2)."""
        head = self._read_head()
        status, reason, headers = parse_head(head)
        has_no_body = bodiless or status < 200 or status in (204, 304)
        length = 0 if has_no_body else content_length(headers)
        return Answer(status, reason, headers, self._take(length), head)

    def at_end(self) -> bool:
        """Return whether the server has closed and nothing is left to read."""
        return not self._unread and not self._receive()

    def rest(self) -> bytes:
        """Read everything until the server closes the connection."""
        with suppress(ConnectionResetError):
            while self._receive():
                pass
        rest = bytes(self._unread)
        self._unread.clear()
        return rest

    def _read_head(self) -> bytes:
        while (end := self._unread.find(b"\r\n\r\n")) < 0:
            if not self._receive():
                raise BrokenAnswer(f"closed after {bytes(self._unread)!r}")
        return self._take(end + 4)[:-4]

    def _take(self, size: int) -> bytes:
        while len(self._unread) < size:
            if not self._receive():
                raise BrokenAnswer(f"closed inside a body: {bytes(self._unread)!r}")
        taken = bytes(self._unread[:size])
        del self._unread[:size]
        return taken

    def _receive(self) -> bool:
        try:
            data = self._sock.recv(65536)
        except TimeoutError:
            message = f"no more bytes after {bytes(self._unread)!r}"
            raise BrokenAnswer(message) from None
        self._unread += data
        return bool(data)


def parse_head(head: bytes) -> tuple[int, str, list[tuple[str, str]]]:
    status_line, *lines = head.split(b"\r\n")
    status = _STATUS_LINE.fullmatch(status_line)
    if not status:
        raise BrokenAnswer(f"not a status line: {status_line!r}")
    headers = []
    for line in lines:
        match = _FIELD_LINE.fullmatch(line)
        if not match:
            raise BrokenAnswer(f"not a header line: {line!r}")
        headers.append((match[1].decode("ascii"), match[2].decode("ascii")))
    return int(status[1]), status[2].decode("ascii"), headers


def content_length(headers: Iterable[tuple[str, str]]) -> int:
    """Return the only Content-Length; without it, the end of the body is unclear."""
    lengths = [v for name, v in headers if name.lower() == "content-length"]
    codings = [v for name, v in headers if name.lower() == "transfer-encoding"]
    if codings or len(lengths) != 1 or not lengths[0].isdigit():
        raise BrokenAnswer(f"unclear length: {lengths}, {codings}")
    return int(lengths[0])


def request(method: str, target: str, fields: Fields, body: bytes = b"") -> bytes:
    """Return a request with exactly these fields in this order."""
    lines = [f"{method} {target} HTTP/1.1".encode()]
    for name, value in fields:
        raw = value if isinstance(value, bytes) else value.encode("latin-1")
        lines.append(name.encode("latin-1") + b": " + raw)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(body: bytes, size: int = 4096) -> bytes:
    """Return the body in chunked coding (RFC 9112 §7.1), without trailers."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return b"".join(chunks) + b"0\r\n\r\n"


def exchange(endpoint: Endpoint, raw: bytes, *, bodiless: bool = False) -> Answer:
    """Send bytes on a new connection and read exactly one answer.

    After `Connection: close`, the server must close by itself; otherwise nothing may
    follow once we have closed our half.
    """
    with endpoint.connect() as connection:
        connection.send(raw)
        answer = connection.read_answer(bodiless=bodiless)
        if "close" not in answer.all("Connection"):
            connection.finish_sending()
        if not endpoint.tls and (rest := connection.rest()):
            raise BrokenAnswer(f"more than one answer: {rest!r}")
        return answer
