"""Hostile peers by name: each sends something that may break a client.

A peer's function returns an iterable of the bytes to send, which may be endless;
the connection is closed after the last bytes.
"""

import socket
import socketserver
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain, repeat

from tests.probe.gateway import running

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP = b"Content-Encoding: gzip"
JSON = b"Content-Type: application/json"
ESCAPES = b"\x1b]0;owned\x07\x1b[2J\x9b31m\x08\xe2\x80\xae"
DEEP = b'{"a":' * 99_999 + b"1" + b"}" * 99_999


@cache
def bomb() -> bytes:
    """Return 50 MB of zeros, gzipped to 49 KB, without holding the zeros in memory."""
    packer = zlib.compressobj(wbits=31)  # gzip
    parts = [packer.compress(b"\0" * 1_000_000) for _ in range(50)]
    return b"".join([*parts, packer.flush()])


def answer(body: bytes, *fields: bytes, status: bytes = b"200 OK") -> list[bytes]:
    first = [b"HTTP/1.1 " + status, b"Connection: close"]
    return [
        b"\r\n".join([*first, *fields, b"Content-Length: %d" % len(body), b"", body])
    ]


def redirect(location: bytes) -> list[bytes]:
    return answer(b"", b"Location: " + location, status=b"302 Found")


def slowly(data: bytes) -> Iterator[bytes]:
    for byte in data:
        yield bytes([byte])
        time.sleep(0.05)


HOSTILE_PEERS: dict[str, Callable[[], Iterable[bytes]]] = {
    "nothing": list,
    "NUL bytes": lambda: [b"\0" * 100_000],
    "a status line without end": lambda: repeat(b"HTTP/1.1 200 " + b"O" * 65_536),
    "a status that is no number": lambda: [b"HTTP/1.1 \xff\xfe OK\r\n\r\n"],
    "a status of ten digits": lambda: [b"HTTP/1.1 9999999999 OK\r\n\r\n"],
    "header fields without end": lambda: chain([OK], repeat(b"X-Field: value\r\n")),
    "a header field without end": lambda: chain([OK, b"X: "], repeat(b"x" * 65_536)),
    "10,000 header fields": lambda: [OK, b"X-Field: value\r\n" * 10_000, b"\r\n"],
    "header fields that are none": lambda: [OK, b"\xff\0: \x85\x1c\n \n:\r\n\r\n"],
    "100 Continue without end": lambda: repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 99),
    "102 Processing without end": lambda: repeat(b"HTTP/1.1 102 Wait\r\n\r\n" * 99),
    "a body without end": lambda: chain([OK, b"\r\n"], repeat(b"x" * 65_536)),
    "chunks without end": lambda: chain([CHUNKED], repeat(b"1\r\nx\r\n" * 9999)),
    "a chunk of negative size": lambda: [CHUNKED, b"-5\r\nabcde\r\n0\r\n\r\n"],
    "a chunk of huge size": lambda: [CHUNKED, b"f" * 5000, b"\r\nabc"],
    "trailers without end": lambda: chain([CHUNKED, b"0\r\n"], repeat(b"A: b\r\n")),
    "a length of 5000 digits": lambda: [
        OK,
        b"Content-Length: %b\r\n\r\n" % (b"9" * 5000),
    ],
    "a negative length": lambda: [OK, b"Content-Length: -1\r\n\r\nabc"],
    "two lengths": lambda: [OK, b"Content-Length: 1\r\nContent-Length: 9\r\n\r\nabc"],
    "a byte now and then": lambda: slowly(OK + b"X-Slow: " + b"x" * 10_000),
    "a body byte now and then": lambda: chain([OK, b"\r\n"], slowly(b"x" * 10_000)),
    "a gzip bomb": lambda: answer(bomb(), GZIP),
    "half a gzip bomb": lambda: answer(bomb()[:10_000], GZIP),
    "deep JSON": lambda: answer(b"[" * 500_000, JSON),
    "deep JSON that ends": lambda: answer(DEEP, JSON),
    "a number of a million digits": lambda: answer(b"9" * 999_999, JSON),
    "numbers that are none": lambda: answer(b'{"error":{"code":NaN},"a":1e999}', JSON),
    "invalid UTF-8": lambda: answer(b'{"error":{"code":"\xff\xfe\xed\xa0\x80"}}', JSON),
    "a lone surrogate": lambda: answer(b'{"error":{"code":"\\ud800"}}', JSON),
    "a redirect to nowhere": lambda: redirect(b"http://["),
    "a redirect with escapes": lambda: redirect(b"//x/" + ESCAPES),
    "a page title with escapes": lambda: answer(b"<title>%b</title>" % ESCAPES),
    "titles without end": lambda: answer(b"<title>" * 140_000),
    "links without end": lambda: answer(b"", b"Link: " + b"<a>;" * 16_000),
    "a server name with escapes": lambda: answer(
        b"no", b"Server: squid" + ESCAPES, status=b"403 " + ESCAPES
    ),
    "a switch of protocols": lambda: [b"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n", ESCAPES],
}


class _Peer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64
    respond: Callable[[bytes], Iterable[bytes]]

    def handle_error(self, request, client_address) -> None:
        """Do not log: the probe closes connections before everything is sent."""


class _Handler(socketserver.BaseRequestHandler):
    request: socket.socket
    server: _Peer

    def handle(self) -> None:
        self.request.settimeout(5)
        request = self.request.recv(65_536)
        for part in self.server.respond(request):
            self.request.sendall(part)


@contextmanager
def hostile_peer(respond: Callable[[bytes], Iterable[bytes]]) -> Iterator[int]:
    """Respond to the first bytes of every connection, then close it; yield the port."""
    with _Peer(("127.0.0.1", 0), _Handler) as server:
        server.respond = respond
        with running(server):
            yield server.server_address[1]
