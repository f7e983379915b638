"""The contract on one page, for Granian: the key, the checks, the response.

This is what a good engineer would write in an afternoon: every rule and a fast decoder,
but no journal, no rate limits, no timeouts and no explanations of refusals.
"""

import os
import time
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import msgspec

MODEL = "vendor-cabinet-preview-echo"
MAX_BODY = 32768
MAX_CONTENT = 8192
# The last `created` of each key, by digest.
KEYS = {
    sha256(key).digest(): 0
    for key in Path(os.environ["BENCH_KEYS"]).read_bytes().split()
}
MODELS = msgspec.json.encode(
    {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "vendor"}]}
)


class Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.body = msgspec.json.encode({"error": {"code": code}})


def check_key(authorization: list[str]) -> bytes:
    """Return the digest of the key."""
    scheme, _, key = "".join(authorization).partition(" ")
    digest = sha256(key.strip().encode()).digest()
    if len(authorization) != 1 or scheme.lower() != "bearer" or digest not in KEYS:
        raise Refused(401, "invalid_key")
    return digest


def check_media_type(content_type: list[str], content_encoding: str | None) -> None:
    media = "".join(content_type).partition(";")[0].strip().lower()
    if len(content_type) != 1 or media != "application/json" or content_encoding:
        raise Refused(415, "unsupported_media_type")


def read(body: bytes) -> str:
    """Return the text of a request; raise `Refused` if it breaks a rule."""
    if len(body) > MAX_BODY:
        raise Refused(413, "request_too_large")
    try:
        request = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused(400, "invalid_json") from None
    check_fields(request, {"model", "messages"}, {"stream", "max_tokens"})
    if request["model"] != MODEL:
        raise Refused(400, "invalid_model")
    messages = request["messages"]
    if not isinstance(messages, list) or len(messages) != 1:
        raise Refused(400, "invalid_messages")
    if not isinstance(messages[0], dict):
        raise Refused(400, "invalid_messages")
    check_fields(messages[0], {"role", "content"}, set())
    if messages[0]["role"] != "user":
        raise Refused(400, "invalid_role")
    content = messages[0]["content"]
    if not isinstance(content, str):
        raise Refused(400, "invalid_content")
    if not content:
        raise Refused(400, "empty_content")
    if len(content.encode()) > MAX_CONTENT:
        raise Refused(400, "content_too_large")
    if request.get("stream", False) is not False:
        raise Refused(400, "stream_unavailable")
    max_tokens = request.get("max_tokens", 2000)
    if type(max_tokens) is not int or max_tokens != 2000:
        raise Refused(400, "invalid_max_tokens")
    return content


def check_fields(found: object, required: set[str], optional: set[str]) -> None:
    if not isinstance(found, dict):
        raise Refused(400, "invalid_json")
    if found.keys() - required - optional:
        raise Refused(400, "unknown_field")
    if required - found.keys():
        raise Refused(400, "missing_field")


def created_for(digest: bytes) -> int:
    """Return the time, or one second more than the last `created` of the key."""
    now = int(time.time())
    following = max(now, KEYS[digest] + 1)
    KEYS[digest] = following if following <= now + 3600 else now
    return KEYS[digest]


def completion(content: str, digest: bytes) -> bytes:
    tokens = -(-len(content.encode()) // 4)
    message = {"role": "assistant", "content": content}
    return msgspec.json.encode(
        {
            "id": str(uuid4()),
            "object": "chat.completion",
            "created": created_for(digest),
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": tokens,
                "total_tokens": 2 * tokens,
            },
        }
    )
