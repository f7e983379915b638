"""Requests to the API, and the checks that every success and refusal must pass.

Literals of the contract that several files need are here as well. A rule that only one
file tests belongs in that file.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Self
from zlib import crc32

from tests.support.server import Server
from tests.support.wire import Answer, Endpoint, Fields, chunked, exchange, request

MODEL = "vendor-cabinet-preview-echo"
MODELS = "/v1/models"
CHAT = "/v1/chat/completions"

STATUS = {
    "malformed_request": 400,
    "unsupported_transfer_coding": 501,
    "target_too_long": 414,
    "headers_too_large": 431,
    "not_found": 404,
    "invalid_key": 401,
    "rate_limited": 429,
    "request_too_large": 413,
    "unsupported_media_type": 415,
    "invalid_json": 400,
    "unknown_field": 400,
    "missing_field": 400,
    "invalid_model": 400,
    "invalid_messages": 400,
    "invalid_role": 400,
    "invalid_content": 400,
    "empty_content": 400,
    "content_too_large": 400,
    "stream_unavailable": 400,
    "invalid_max_tokens": 400,
    "request_timeout": 408,
}

# A text for requests in which any text would do. Only the echo may contain it.
MARKER = "zyzzyva-47"

compares_headers = True
"""Whether to compare headers other than Content-Type; False for other servers.

If False, every sentence passes, because sentences are in a header.
"""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SENTENCE = re.compile(r"[\x21-\x7e][\x20-\x7e]{10,998}[.?]")
_HTTP_DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] "
    r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
    r"[0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT"
)
_ANY_KEY = re.compile(rb"sk-echo-[0-9A-Za-z]{4}")


def compact(value: object, *, escaped: bool = False) -> bytes:
    """Return JSON without white space, as raw UTF-8 or with \\u escapes."""
    return json.dumps(value, ensure_ascii=escaped, separators=(",", ":")).encode()


def draft(content: object = MARKER, **members: object) -> dict[str, Any]:
    """Return the body of a chat request; keywords replace or add members."""
    message = {"role": "user", "content": content}
    return {"model": MODEL, "messages": [message], **members}


def key_with_checksum(secret: str) -> str:
    """Return a well-formed key: `sk-echo-`, a secret, and their CRC-32 in base62."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number = crc32(f"sk-echo-{secret}".encode())
    checksum = ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        checksum = digits[digit] + checksum
    return f"sk-echo-{secret}{checksum}"


@dataclass(frozen=True)
class Api:
    """The address of the API and the key that is sent to it."""

    endpoint: Endpoint
    key: str
    cabinet_url: str | None = None

    @classmethod
    def of(cls, server: Server) -> Self:
        return cls(Endpoint.of(server.base_url), server.api_key, server.cabinet_url)

    def with_key(self, key: str) -> Self:
        return replace(self, key=key)

    @property
    def host(self) -> tuple[str, str]:
        return ("Host", self.endpoint.authority)

    @property
    def bearer(self) -> tuple[str, str]:
        return ("Authorization", f"Bearer {self.key}")

    @property
    def usual_fields(self) -> list[tuple[str, str | bytes]]:
        """The fields that every request needs."""
        return [self.host, self.bearer]

    def send(self, raw: bytes, *, bodiless: bool = False) -> Answer:
        return exchange(self.endpoint, raw, bodiless=bodiless)

    def ask(
        self, method: str, target: str, fields: Fields | None = None, body: bytes = b""
    ) -> Answer:
        """Send exactly these fields, and Content-Length if there is a body."""
        fields = self.usual_fields if fields is None else fields
        length = [("Content-Length", str(len(body)))] if body else []
        raw = request(method, target, [*fields, *length], body)
        return self.send(raw, bodiless=method == "HEAD")

    def models(self) -> Answer:
        return self.ask("GET", MODELS)

    def chat(self, body: object, *, extra: Fields = ()) -> Answer:
        """Post the body: bytes unchanged, anything else as compact JSON."""
        return self.send(self.chat_bytes(body, extra=extra))

    def chat_in_chunks(self, body: object, *, size: int = 4096) -> Answer:
        body = body if isinstance(body, bytes) else compact(body)
        coding = ("Transfer-Encoding", "chunked")
        fields = [*self.usual_fields, ("Content-Type", "application/json"), coding]
        return self.send(request("POST", CHAT, fields, chunked(body, size)))

    def chat_bytes(self, body: object, *, extra: Fields = ()) -> bytes:
        body = body if isinstance(body, bytes) else compact(body)
        media = ("Content-Type", "application/json")
        length = ("Content-Length", str(len(body)))
        return request("POST", CHAT, [*self.usual_fields, media, length, *extra], body)


class AnySentence(str):
    """Replaces an unchecked sentence: `words in sentence` is always true."""

    def __contains__(self, words: object) -> bool:
        return True


def assert_common_headers(answer: Answer) -> None:
    """Check the headers that every answer must have."""
    assert answer.header("Content-Type") == "application/json"
    if not compares_headers:
        return
    assert answer.header("Cache-Control") == "no-store"
    assert answer.header("X-Content-Type-Options") == "nosniff"
    assert _UUID.fullmatch(answer.header("X-Request-Id") or "")
    assert _HTTP_DATE.fullmatch(answer.header("Date") or "")
    assert not re.search(r"[0-9/]", answer.header("Server") or "")
    assert answer.header("X-Powered-By") is None
    assert not _ANY_KEY.search(answer.head)


# From RFC 9110 §15 and RFC 6585; Python has other names for some.
_PHRASES = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    408: "Request Timeout",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
}


def assert_refused(answer: Answer, code: str, *, bodiless: bool = False) -> str:
    """Check the exact form of a refusal; return its sentence."""
    body = b'{"error":{"code":"%b"}}' % code.encode()
    assert (answer.status, answer.body) == (STATUS[code], b"" if bodiless else body)
    assert answer.header("Content-Length") == str(len(body))
    assert_common_headers(answer)
    if not compares_headers:
        return AnySentence()
    assert answer.reason == f"{_PHRASES[answer.status]} ({code})"
    sentence = answer.header("X-Error-Detail")
    assert sentence and _SENTENCE.fullmatch(sentence), sentence
    assert MARKER.encode() not in answer.head
    return sentence


def assert_success(answer: Answer) -> Any:
    """Check the form of a success, in which no name is repeated; return the body."""
    assert (answer.status, answer.reason) == (200, "OK"), answer
    assert_common_headers(answer)
    assert answer.header("X-Error-Detail") is None
    assert answer.header("WWW-Authenticate") is None
    return json.loads(answer.body.decode(), object_pairs_hook=_without_repetition)


def assert_echo(answer: Answer, content: str) -> dict[str, Any]:
    """Check every member of a chat answer, its value and its type; return the body."""
    body = assert_success(answer)
    assert _UUID.fullmatch(body["id"])
    assert not compares_headers or body["id"] == answer.header("X-Request-Id")
    assert type(body["created"]) is int
    assert _same(body, _expected_echo(body["id"], body["created"], content))
    return body


def _expected_echo(answer_id: str, created: int, content: str) -> dict[str, Any]:
    tokens = (len(content.encode()) + 3) // 4
    message = {"role": "assistant", "content": content}
    return {
        "id": answer_id,
        "object": "chat.completion",
        "created": created,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": tokens,
            "total_tokens": 2 * tokens,
        },
    }


def _same(left: object, right: object) -> bool:
    """Compare as JSON: unlike with ==, 0 is neither 0.0 nor false."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), names
    return dict(pairs)
