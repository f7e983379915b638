"""The requests of the soak: bytes to send, and the outcome to expect.

Most are echoes; some are refused for a known reason, so that refusals are also checked
and counted.
"""

import json
import random
from typing import NamedTuple

from tests.support.api import CHAT, draft
from tests.support.keys import mistyped
from tests.support.load import models
from tests.support.wire import Endpoint, chunked, request

from readback import keys
from soak.texts import Texts

NO_KEY = -1
"""Stands for any key that is not one of ours."""

_REFUSED = (
    "invalid_json",
    "invalid_model",
    "unknown_field",
    "empty_content",
    "content_too_large",
    "stream_unavailable",
)
# How many of a hundred requests are of each kind.
_KINDS = {
    "echo": 88,
    "models": 3,
    "refused": 6,
    "not_found": 1,
    "mistyped key": 1,
    "made-up key": 1,
}


class Call(NamedTuple):
    """One request and what its answer must be."""

    pieces: list[bytes]
    """The request; its pieces are sent one by one."""
    key: int
    endpoint: str
    code: str
    """Empty if the request must be accepted."""
    text: str = ""
    look_up: bool = False
    """Whether the service has to ask the database about the key."""


class Calls:
    """Generates random requests."""

    def __init__(
        self, endpoint: Endpoint, known: list[str], marker: str, seed: int
    ) -> None:
        self._endpoint = endpoint
        self._keys = known
        self._random = random.Random(seed)
        self.texts = Texts(marker, seed)

    def next(self, key: int) -> Call:
        [kind] = self._random.choices(list(_KINDS), list(_KINDS.values()))
        secret = self._keys[key]
        if kind == "models":
            return Call([models(self._endpoint, secret)], key, "models", "")
        if kind == "refused":
            code = self._random.choice(_REFUSED)
            return Call([self._chat(secret, self._invalid(code))], key, "chat", code)
        if kind == "not_found":
            fields = [("Host", self._endpoint.authority), *_bearer(secret)]
            raw = request("GET", "/v1/model", fields)
            return Call([raw], key, "other", "not_found")
        if kind == "mistyped key":
            raw = self._chat(mistyped(secret), self._body(self.texts.next()))
            return Call([raw], NO_KEY, "chat", "invalid_key")
        if kind == "made-up key":
            raw = self._chat(keys.mint(), self._body(self.texts.next()))
            return Call([raw], NO_KEY, "chat", "invalid_key", look_up=True)
        return self.echo(key)

    def echo(self, key: int) -> Call:
        text = self.texts.next()
        raw = self._chat(self._keys[key], self._body(text))
        return Call(self._cut(raw), key, "chat", "", text)

    def _body(self, text: str) -> bytes:
        members: dict[str, object] = {}
        if self._random.random() < 0.1:
            members = {"stream": False, "max_tokens": 2000}
        return self._encode(draft(text, **members))

    def _encode(self, value: object) -> bytes:
        """Return JSON as clients write it: raw, escaped, or with white space."""
        style = self._random.random()
        if style < 0.7:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        if style < 0.85:
            return json.dumps(value, ensure_ascii=True).encode()
        return json.dumps(value, ensure_ascii=False, indent=1).encode()

    def _invalid(self, code: str) -> bytes:
        text = self.texts.next()
        valid = self._encode(draft(text))
        match code:
            case "invalid_json":
                return valid[:-1]
            case "invalid_model":
                return self._encode(draft(text, model="another"))
            case "unknown_field":
                return self._encode(draft(text, temperature=0))
            case "empty_content":
                return self._encode(draft(""))
            case "content_too_large":
                # Not escaped, because the whole body also has a limit.
                return json.dumps(
                    draft(self.texts.too_long()), ensure_ascii=False
                ).encode()
            case _:
                return self._encode(draft(text, stream=True))

    def _chat(self, key: str, body: bytes) -> bytes:
        fields = [("Host", self._endpoint.authority), *_bearer(key)]
        fields.append(("Content-Type", "application/json"))
        if self._random.random() < 0.05:
            fields.append(("Transfer-Encoding", "chunked"))
            return request("POST", CHAT, fields, chunked(body, 1000))
        fields.append(("Content-Length", str(len(body))))
        return request("POST", CHAT, fields, body)

    def _cut(self, raw: bytes) -> list[bytes]:
        """Cut one in twenty requests at a random place."""
        if self._random.random() >= 0.05:
            return [raw]
        place = self._random.randrange(1, len(raw))
        return [raw[:place], raw[place:]]


def _bearer(key: str) -> list[tuple[str, str]]:
    return [("Authorization", f"Bearer {key}")]
