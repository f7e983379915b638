"""What is sent and what comes back: the texts, the request and an answer of its size.

Every server gets these bytes and no others. Repeats literals of the contract on
purpose: a benchmark that imports the product measures what the product believes.
"""

import json
from dataclasses import dataclass, field, replace

MODEL = "vendor-cabinet-preview-echo"
PATH = "/v1/chat/completions"
MAX_CONTENT_BYTES = 8192

_RUSSIAN = "Проверка связи: приём, как слышно, повторите слово в слово. "
_ENGLISH = "Radio check: how do you read me, say again word for word. "


def _of_size(sentence: str, size: int) -> str:
    """Repeat a sentence to exactly so many bytes of UTF-8."""
    cut = (sentence * size).encode()[:size].decode(errors="ignore")
    return cut + "." * (size - len(cut.encode()))


SHORT = _of_size(_ENGLISH, 50)
LONG_ASCII = _of_size(_ENGLISH, MAX_CONTENT_BYTES)
LONG_CYRILLIC = _of_size(_RUSSIAN, MAX_CONTENT_BYTES)


def mistyped(key: str) -> str:
    """Change the last character, so that the checksum does not fit."""
    return key[:-1] + ("a" if key[-1] != "a" else "b")


@dataclass(frozen=True)
class Request:
    """One request, as the load generators send it again and again."""

    key: str
    content: str = SHORT
    method: str = "POST"
    path: str = PATH
    extra_fields: dict[str, object] = field(default_factory=dict)
    close: bool = False

    @property
    def body(self) -> bytes:
        message = {"role": "user", "content": self.content}
        return compact({"model": MODEL, "messages": [message], **self.extra_fields})

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        if self.close:
            headers["Connection"] = "close"
        return headers

    def on_the_wire(self, port: int) -> bytes:
        head = [f"{self.method} {self.path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
        head += [f"{name}: {value}" for name, value in self.headers.items()]
        head += [f"Content-Length: {len(self.body)}", "", ""]
        return "\r\n".join(head).encode() + self.body

    def but(self, **changes: object) -> "Request":
        return replace(self, **changes)  # type: ignore[arg-type]


def answer(content: str) -> bytes:
    """An answer of the size that the contract asks for, as a constant."""
    tokens = -(-len(content.encode()) // 4)
    message = {"role": "assistant", "content": content}
    return compact(
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


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
