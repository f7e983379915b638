"""Check that a peer behaves as peers.toml claims, before it is measured.

A server that skipped the key or the checks would be faster, and the comparison unfair.
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
    peer = server.peer
    request = server.request()
    yield from _response_violations(server, request)
    if peer.key == "checked":
        status, _ = send(server.port, request.with_key(keys.mint()))
        if status < 400:
            yield "accepts a wrong key"
    if peer.keeps_contract:
        status, _ = send(server.port, request.with_key(server.keys[-1]))
        if status != 200:
            yield f"accepts only some of {len(server.keys)} keys"
    if peer.key == "present":
        status, _ = send(server.port, request.with_key(""))
        if status < 400:
            yield "accepts a request without a key"
    if peer.echoes:
        other = 'Another text, with "quotes", \\ and кириллица.'
        yield from _response_violations(server, request.with_content(other))
        yield from _contract_violations(server, request)


def _response_violations(server: PeerServer, request: Request) -> Iterator[str]:
    status, body = send(server.port, request)
    if status != 200:
        yield f"returns {status} for a valid request"
        return
    response = json.loads(body)
    if response["choices"][0]["message"]["content"] != request.content:
        yield "returns a different text"
    if server.peer.echoes:
        expected = json.loads(messages.response_body(request.content))
        for variable in ("id", "created"):
            expected[variable] = response.get(variable)
        if response != expected:
            yield "returns a response that differs from the contract"


def _contract_violations(server: PeerServer, request: Request) -> Iterator[str]:
    """Send one invalid request for each kind of check in the contract."""
    long_text = "x" * (messages.MAX_CONTENT_BYTES + 1)
    two_messages = [{"role": "user"}] * 2
    invalid: list[tuple[str, int, str, Request]] = [
        ("a URL parameter", 404, "not_found", request.with_path(f"{request.path}?a=1")),
        ("another path", 404, "not_found", request.with_path("/v1/responses")),
        ("another method", 404, "not_found", request.with_method("PUT")),
        ("a wrong key", 401, "invalid_key", request.with_key(keys.mint())),
        ("an unknown field", 400, "unknown_field", request.with_fields(temperature=0)),
        ("another model", 400, "invalid_model", request.with_fields(model="other")),
        (
            "two messages",
            400,
            "invalid_messages",
            request.with_fields(messages=two_messages),
        ),
        ("an empty text", 400, "empty_content", request.with_content("")),
        ("a long text", 400, "content_too_large", request.with_content(long_text)),
        ("a long body", 413, "request_too_large", request.with_content(long_text * 4)),
        ("stream", 400, "stream_unavailable", request.with_fields(stream=True)),
        ("max_tokens", 400, "invalid_max_tokens", request.with_fields(max_tokens=1)),
    ]
    for what, status, code, wrong in invalid:
        actual, body = send(server.port, wrong)
        if actual != status or json.loads(body) != {"error": {"code": code}}:
            yield f"{what}: got {actual} {body[:60]!r} instead of {status} {code}"
