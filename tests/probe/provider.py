"""A small OpenAI-compatible API on loopback, as a provider or a local server has it.

It answers over real connections, streams with real delays, and records every request,
so that a test can tell what arrived and with which key.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.probe.relay import running

KEY = "sk-proj-" + "T3BlbkFJ" * 5
MODEL = "gpt-small"
NO_KEY = {"message": "You didn't provide an API key.", "type": "invalid_request_error"}
WRONG_KEY = {"message": "Incorrect API key provided: {}.", "code": "invalid_api_key"}


def error(**fields: object) -> bytes:
    return json.dumps({"error": fields}).encode()


def completion(**more: object) -> bytes:
    message = {"role": "assistant", "content": "1 2 3"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 17, "completion_tokens": 5, "total_tokens": 22}
    return json.dumps({"choices": [choice], "usage": usage} | more).encode()


def event(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}}
    return b"data: %b\n\n" % json.dumps({"choices": [choice]}).encode()


STREAM = (*map(event, "123456"), b"data: [DONE]\n\n")


@dataclass(frozen=True)
class Answer:
    """A status with a body, or with the parts of a stream."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    parts: tuple[bytes, ...] = ()


@dataclass
class Behavior:
    """How the provider answers; without a key it is open to everybody."""

    path: str = "/v1"
    key: str | None = KEY
    headers: dict[str, str] = field(default_factory=dict)
    models: Answer | tuple[str, ...] = (MODEL, "gpt-large")
    without_key: Answer = field(default_factory=lambda: Answer(401, error(**NO_KEY)))
    wrong_key: Answer | None = None
    completed: Answer = field(default_factory=lambda: Answer(200, completion()))
    streamed: Answer = field(default_factory=lambda: Answer(200, parts=STREAM))
    token_limit: str = "max_tokens"
    pause: float = 0.02
    """Seconds before each part of a stream."""
    is_buffered: bool = False
    """Whether a stream is held back until its end, as by a proxy."""
    elsewhere: Answer = field(
        default_factory=lambda: Answer(404, error(message="Invalid URL", code=None))
    )
    root: Answer | None = None


@dataclass(frozen=True)
class Recorded:
    method: str
    path: str
    authorization: str | None
    body: bytes


class Provider(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behavior: Behavior) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behavior = behavior
        self.requests: list[Recorded] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.behavior.path}"

    @property
    def authorizations(self) -> list[str]:
        return [one.authorization for one in self.requests if one.authorization]

    def handle_error(self, request, client_address) -> None:
        """Do not log: clients close connections on purpose."""

    def answer(self, request: Recorded) -> Answer:
        behavior = self.behavior
        if request.path == "/" and behavior.root:
            return behavior.root
        if request.path == f"{behavior.path}/models":
            return self._refusal(request.authorization) or self._models()
        if request.path == f"{behavior.path}/chat/completions":
            return self._refusal(request.authorization) or self._chat(request.body)
        return behavior.elsewhere

    def _refusal(self, authorization: str | None) -> Answer | None:
        if self.behavior.key is None:
            return None
        if authorization is None:
            return self.behavior.without_key
        if authorization == f"Bearer {self.behavior.key}":
            return None
        if self.behavior.wrong_key:
            return self.behavior.wrong_key
        shown = authorization.removeprefix("Bearer ")
        starred = f"{shown[:8]}{'*' * 20}{shown[-4:]}"
        message = WRONG_KEY["message"].format(starred)
        return Answer(401, error(**WRONG_KEY | {"message": message}))

    def _models(self) -> Answer:
        models = self.behavior.models
        if isinstance(models, Answer):
            return models
        rows = [{"id": id, "object": "model", "owned_by": "provider"} for id in models]
        return Answer(200, json.dumps({"object": "list", "data": rows}).encode())

    def _chat(self, body: bytes) -> Answer:
        asked = json.loads(body)
        if self.behavior.token_limit not in asked:
            message = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                f"Use '{self.behavior.token_limit}' instead."
            )
            return Answer(400, error(message=message, param="max_tokens"))
        behavior = self.behavior
        return behavior.streamed if asked.get("stream") else behavior.completed


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Provider

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Recorded(
            self.command, self.path, self.headers.get("Authorization"), body
        )
        self.server.requests.append(request)
        answer = self.server.answer(request)
        self.send_response_only(answer.status)
        kind = "text/event-stream" if answer.parts else "application/json"
        headers = {"Content-Type": kind} | self.server.behavior.headers
        for name, value in (headers | answer.headers).items():
            self.send_header(name, value)
        self._send_parts(answer) if answer.parts else self._send_body(answer)

    do_GET = do_POST = _respond

    def _send_body(self, answer: Answer) -> None:
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _send_parts(self, answer: Answer) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        held = b""
        for part in answer.parts:
            time.sleep(self.server.behavior.pause)
            chunk = b"%x\r\n%b\r\n" % (len(part), part)
            if self.server.behavior.is_buffered:
                held += chunk
            else:
                self.wfile.write(chunk)
        self.wfile.write(held + b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def provider(**options: object) -> Iterator[Provider]:
    """Run a provider that behaves as these options say."""
    server = Provider(Behavior(**options))
    with running(server):
        yield server
