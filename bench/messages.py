"""The texts and requests that are sent, and a response of the expected size.

All servers receive the same bytes. The literals of the contract are repeated here on
purpose: if they were imported from the product, a mistake in it would go unnoticed.
"""

import json
from dataclasses import dataclass, replace

MODEL = "vendor-cabinet-preview-echo"
PATH = "/v1/chat/completions"
MAX_CONTENT_BYTES = 8192

_RUSSIAN = "Проверка связи: приём, как слышно, повторите слово в слово. "
_ENGLISH = "Radio check: how do you read me, say again word for word. "


def _of_size(sentence: str, size: int) -> str:
    """Repeat a sentence until it is exactly `size` bytes long in UTF-8."""
    cut = (sentence.encode() * size)[:size].decode(errors="ignore")
    return cut + "." * (size - len(cut.encode()))


def text_of(size: int, number: int) -> str:
    """Return one of many texts: English or Russian, every sixth with line breaks."""
    text = _of_size(_RUSSIAN if number % 3 == 1 else _ENGLISH, size)
    return text.replace(". ", '."\n\t') if number % 6 == 2 else text


SHORT = _of_size(_ENGLISH, 50)
LONG_ASCII = _of_size(_ENGLISH, MAX_CONTENT_BYTES)
LONG_CYRILLIC = _of_size(_RUSSIAN, MAX_CONTENT_BYTES)


@dataclass(frozen=True)
class Request:
    """A request that the load generators send repeatedly."""

    key: str
    content: str = SHORT
    forwarded_for: str = ""
    request_id: str = ""
    close: bool = False
    # Whether to escape letters that are not ASCII, as `requests` and PHP do.
    escapes_letters: bool = False

    @property
    def body(self) -> bytes:
        message = {"role": "user", "content": self.content}
        body = {"model": MODEL, "messages": [message]}
        return json.dumps(body).encode() if self.escapes_letters else _json(body)

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        if self.forwarded_for:
            headers["X-Forwarded-For"] = self.forwarded_for
        if self.request_id:
            headers["X-Request-Id"] = self.request_id
        if self.close:
            headers["Connection"] = "close"
        return headers

    def to_bytes(self, port: int) -> bytes:
        head = [f"POST {PATH} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
        head += [f"{name}: {value}" for name, value in self.headers.items()]
        head += [f"Content-Length: {len(self.body)}", "", ""]
        return "\r\n".join(head).encode() + self.body

    def with_key(self, key: str) -> "Request":
        return replace(self, key=key)

    def with_content(self, content: str) -> "Request":
        return replace(self, content=content)

    def escaping(self) -> "Request":
        return replace(self, escapes_letters=True)

    def forwarded(self, address: str) -> "Request":
        """Add the address of a client, as a balancer does."""
        return replace(self, forwarded_for=address)

    def with_request_id(self, request_id: str) -> "Request":
        """Add an id that differs in every request, as an ingress does."""
        return replace(self, request_id=request_id)

    def closing(self) -> "Request":
        """Ask the server to close the connection after its response."""
        return replace(self, close=True)


def response_body(content: str) -> bytes:
    """Return the body that the contract requires, with a constant id and time."""
    tokens = -(-len(content.encode()) // 4)
    message = {"role": "assistant", "content": content}
    return _json(
        {
            "id": "00000000-0000-4000-8000-000000000000",
            "object": "chat.completion",
            "created": 1767225600,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": tokens,
                "total_tokens": 2 * tokens,
            },
        }
    )


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
