"""A gateway that passes each request and each response through a function.

What the functions see are plain messages; `gateway` has the server itself.
"""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tests.probe.gateway import Call, Gateway, Reply, pass_on, running

Headers = dict[str, str]


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes


@dataclass(frozen=True)
class Response:
    status: int
    reason: str
    headers: Headers
    body: bytes
    version: str = "HTTP/1.1"
    before: bytes = b""
    """Interim responses, sent before this one."""

    def with_body(self, body: bytes, **headers: str) -> "Response":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, body=body, headers=self.headers | named)

    def with_content(self, change: Callable[[str], str]) -> "Response":
        """Return a copy with changed text, if the response is a completion."""
        if b"chat.completion" not in self.body:
            return self
        content = json.loads(self.body)
        message = content["choices"][0]["message"]
        message["content"] = change(message["content"])
        return self.with_body(json.dumps(content, ensure_ascii=False).encode())


# A request filter may also respond itself.
RequestFilter = Callable[[Request], Request | Response]
ResponseFilter = Callable[[Response], Response]


def unchanged(message):
    return message


class Relay(Gateway):
    def __init__(
        self, upstream: str, host: str, on_request, on_response, port: int = 0, **more
    ) -> None:
        self.count = 0
        self._on_request, self._on_response = on_request, on_response
        super().__init__(upstream, self._answer, (host, port), **more)

    def _answer(self, call: Call) -> Reply:
        self.count += 1
        sent = Request(call.method, call.target, dict(call.fields), call.body)
        answer = self._on_request(sent)
        if isinstance(answer, Request):
            fields = tuple(answer.headers.items())
            changed = replace(call, target=answer.target, fields=fields)
            reply = pass_on(replace(changed, method=answer.method, body=answer.body))
            headers = dict(reply.fields)
            answer = Response(reply.status, reply.reason, headers, reply.body)
        one = self._on_response(answer)
        fields = tuple(one.headers.items())
        return Reply(one.status, one.reason, fields, one.body, one.version, one.before)


@contextmanager
def relay(
    upstream: str,
    on_request: RequestFilter = unchanged,
    on_response: ResponseFilter = unchanged,
    *,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
) -> Iterator[Relay]:
    """Run a relay in front of the upstream base URL."""
    choose = (lambda number: tls) if tls else None
    server = Relay(upstream, host, on_request, on_response, tls=choose)
    with running(server):
        yield server
