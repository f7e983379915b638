"""A small OpenAI-compatible API on loopback, like a provider's or a local server's.

It answers over real connections, streams with real delays, and records every request,
so that a test can tell what arrived and with which key.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.probe.gateway import Call, Gateway, Reply, running

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
    """How the provider answers; without a key, it is open to anyone."""

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
    """Seconds to wait before each part of a stream."""
    is_buffered: bool = False
    """Whether the parts of a stream are held back until its end."""
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


class Provider(Gateway):
    def __init__(self, behavior: Behavior) -> None:
        super().__init__("", self._reply)
        self.behavior = behavior
        self.requests: list[Recorded] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.behavior.path}"

    @property
    def authorizations(self) -> list[str]:
        return [
            request.authorization for request in self.requests if request.authorization
        ]

    def _reply(self, call: Call) -> Reply:
        key = call["Authorization"] or None
        request = Recorded(call.method, call.target, key, call.body)
        self.requests.append(request)
        answer, pause = self.answer(request), self.behavior.pause
        kind = "text/event-stream" if answer.parts else "application/json"
        headers = {"Content-Type": kind} | self.behavior.headers | answer.headers
        fields = tuple(headers.items())
        if not answer.parts:
            return Reply(answer.status, fields=fields, body=answer.body)
        body, piece = b"".join(answer.parts), len(answer.parts[0])
        if self.behavior.is_buffered:
            pause, piece = pause * len(answer.parts), len(body)
        # The stream ends when the connection is closed.
        return Reply(
            answer.status,
            fields=fields,
            body=body,
            pause=pause,
            piece=piece,
            is_framed=False,
        )

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
        rows = [
            {"id": model, "object": "model", "owned_by": "provider"} for model in models
        ]
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


@contextmanager
def provider(**options: object) -> Iterator[Provider]:
    """Run a provider with these fields of `Behavior`."""
    server = Provider(Behavior(**options))
    with running(server):
        yield server
