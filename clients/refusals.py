"""The bytes of real refusals that a server in trouble sends: 429 and 503.

A client that tries again would soon be accepted by a real server, so that its attempts
could not be counted. Therefore one answer of each kind is recorded here, from a server
that is really in that state, and the relay repeats it.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import Server, ephemeral_server
from tests.support.wire import Answer, Connection, Endpoint, request

from readback.contract import CHAT_PATH, MODEL

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
        Endpoint.of(server.base_url).connect() as first,
    ):
        limited = _ask(first, server)
        # On a slow machine, the next second may have begun.
        while limited.status == 200:
            limited = _ask(first, server)
        with Endpoint.of(server.base_url).connect() as second:
            unavailable = _ask(second, server)
    assert (limited.status, unavailable.status) == (429, 503)
    return Refusals(_bytes(limited), _bytes(unavailable))


def _ask(connection: Connection, server: Server) -> Answer:
    """Send one chat request; return the answer."""
    message = {"role": "user", "content": "Ready to copy?"}
    body = json.dumps({"model": MODEL, "messages": [message]}).encode()
    fields = [
        ("Host", "localhost"),
        ("Authorization", f"Bearer {server.api_key}"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
    ]
    connection.send(request("POST", CHAT_PATH, fields, body))
    return connection.read_answer()


def _bytes(answer: Answer) -> bytes:
    return answer.head + b"\r\n\r\n" + answer.body
