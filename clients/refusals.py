"""The bytes of real refusals that a server in trouble sends: 429 and 503.

A client that tries again would soon be accepted by a real server, so that its attempts
could not be counted. Therefore one answer of each kind is recorded here, from a server
that is really in that state, and the relay repeats it.
"""

import json
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import Server, ephemeral_server

from readback.contract import CHAT_PATH, MODEL

ANSWER_SECONDS = 10
# One request per second, and one connection at a time.
_IN_TROUBLE = {
    "READBACK_WORKERS": "1",
    "READBACK_KEY_RATE": "1",
    "READBACK_KEY_BURST": "1",
    "READBACK_MAX_CONNECTIONS": "1",
}


@dataclass(frozen=True)
class Refusals:
    """Complete answers, head and body."""

    rate_limited: bytes
    unavailable: bytes


def record() -> Refusals:
    """Start a server, exceed its limits and return its refusals."""
    with (
        tempfile.TemporaryDirectory(prefix="readback-clients-") as folder,
        ephemeral_server(Path(folder), _IN_TROUBLE) as server,
        _connected(server) as first,
    ):
        limited = _ask(first, server)
        # On a slow machine, the next second may have begun.
        while _status(limited) == 200:
            limited = _ask(first, server)
        with _connected(server) as second:
            unavailable = _ask(second, server)
    assert (_status(limited), _status(unavailable)) == (429, 503)
    return Refusals(limited, unavailable)


def _status(answer: bytes) -> int:
    return int(answer.split()[1])


def _connected(server: Server) -> socket.socket:
    host, _, port = server.base_url.split("/")[2].partition(":")
    return socket.create_connection((host, int(port)), ANSWER_SECONDS)


def _ask(connection: socket.socket, server: Server) -> bytes:
    """Send one chat request; return the bytes of the answer."""
    message = {"role": "user", "content": "Ready to copy?"}
    body = json.dumps({"model": MODEL, "messages": [message]}).encode()
    head = (
        f"POST {CHAT_PATH} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {server.api_key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += _received(connection)
    head_bytes, _, start = answer.partition(b"\r\n\r\n")
    [length] = [
        int(line.split(b":")[1])
        for line in head_bytes.splitlines()
        if line.lower().startswith(b"content-length:")
    ]
    while len(start) < length:
        start += _received(connection)
    return head_bytes + b"\r\n\r\n" + start


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    assert data, "the server closed the connection"
    return data
