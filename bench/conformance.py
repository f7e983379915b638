"""Check, before a peer is measured, that it answers the requests correctly.

`rules.py` finds out which other rules of the contract the peer follows.
"""

import json
from collections.abc import Iterator

from bench import messages
from bench.errors import MeasurementError
from bench.messages import Request
from bench.servers import PeerServer, send
from readback import keys


def check(server: PeerServer) -> None:
    """Raise `MeasurementError` with everything that the peer does wrong."""
    if violations := list(_violations(server)):
        raise MeasurementError("; ".join(violations))


def _violations(server: PeerServer) -> Iterator[str]:
    request = server.request()
    yield from _response_violations(server, request)
    if server.peer.is_limit:
        return
    status, _ = send(server.port, request.with_key(keys.mint()))
    if status != 401:
        yield "accepts a wrong key"
    status, _ = send(server.port, request.with_key(server.keys[-1]))
    if status != 200:
        yield f"accepts only some of {len(server.keys)} keys"
    other = 'Another text, with "quotes", \\ and кириллица.'
    yield from _response_violations(server, request.with_content(other))


def _response_violations(server: PeerServer, request: Request) -> Iterator[str]:
    status, body = send(server.port, request)
    if status != 200:
        yield f"returns {status} for a valid request"
        return
    response = json.loads(body)
    expected = json.loads(messages.response_body(request.content))
    for variable in ("id", "created"):
        expected[variable] = response.get(variable)
    if response != expected:
        yield "returns a response that differs from the contract"
