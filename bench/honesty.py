"""Whether a peer does what peers.toml says of it: asked before it is measured.

A server that skips the key or the checks would be faster, and the comparison false.
"""

import json
from collections.abc import Iterator

from bench import messages
from bench.messages import Request
from bench.servers import Server, ask
from readback import keys


class Dishonest(Exception):
    """A peer does not do what peers.toml says of it."""


def check(server: Server) -> None:
    faults = [*_faults(server)]
    if faults:
        raise Dishonest("; ".join(faults))


def _faults(server: Server) -> Iterator[str]:
    peer, request = server.peer, server.request()
    yield from _answer_faults(server, request)
    if (
        peer.key == "checked"
        and ask(server.port, request.but(key=keys.mint()))[0] < 400
    ):
        yield "a wrong key is accepted"
    if peer.key == "present" and ask(server.port, request.but(key=""))[0] < 400:
        yield "a missing key is accepted"
    if peer.echoes:
        other = 'Another text, with "quotes", \\ and кириллица.'
        yield from _answer_faults(server, request.but(content=other))
        yield from _contract_faults(server, request)


def _answer_faults(server: Server, request: Request) -> Iterator[str]:
    status, body = ask(server.port, request)
    if status != 200:
        yield f"status {status} for a right request"
        return
    answer = json.loads(body)
    if answer["choices"][0]["message"]["content"] != request.content:
        yield "another text comes back"
    if server.peer.echoes:
        expected = json.loads(messages.answer(request.content))
        for changing in ("id", "created"):
            expected[changing] = answer.get(changing)
        if answer != expected:
            yield "the answer is not the contract's"


def _contract_faults(server: Server, request: Request) -> Iterator[str]:
    """One request for each kind of check that the contract asks for."""
    long_text = "x" * (messages.MAX_CONTENT_BYTES + 1)
    broken: dict[str, tuple[int, str, Request]] = {
        "a URL parameter": (404, "not_found", request.but(path=f"{request.path}?a=1")),
        "another path": (404, "not_found", request.but(path="/v1/responses")),
        "another method": (404, "not_found", request.but(method="PUT")),
        "a wrong key": (401, "invalid_key", request.but(key=keys.mint())),
        "an unknown field": (
            400,
            "unknown_field",
            request.but(extra_fields={"temperature": 0}),
        ),
        "another model": (
            400,
            "invalid_model",
            request.but(extra_fields={"model": "other"}),
        ),
        "two messages": (
            400,
            "invalid_messages",
            request.but(extra_fields={"messages": [{"role": "user"}] * 2}),
        ),
        "an empty text": (400, "empty_content", request.but(content="")),
        "a long text": (400, "content_too_large", request.but(content=long_text)),
        "a long body": (413, "request_too_large", request.but(content=long_text * 4)),
        "stream": (
            400,
            "stream_unavailable",
            request.but(extra_fields={"stream": True}),
        ),
        "max_tokens": (
            400,
            "invalid_max_tokens",
            request.but(extra_fields={"max_tokens": 1}),
        ),
    }
    for what, (status, code, wrong) in broken.items():
        came, body = ask(server.port, wrong)
        if came != status or json.loads(body) != {"error": {"code": code}}:
            yield f"{what} gives {came} {body[:60]!r}, not {status} {code}"
