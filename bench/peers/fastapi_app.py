"""FastAPI on uvicorn: pydantic checks the body, and dependencies check the rest."""

import json
import os
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    field_validator,
)
from pydantic_core import PydanticCustomError
from starlette.exceptions import HTTPException

MODEL = "vendor-cabinet-preview-echo"
# The last `created` of each key, by digest.
KEYS = {
    sha256(key).digest(): 0
    for key in Path(os.environ["BENCH_KEYS"]).read_bytes().split()
}
# Accept long numbers: they are valid JSON with a wrong value, and bodies are short.
sys.set_int_max_str_digits(0)
# The error code for an invalid value, by field.
CODES = {
    "model": "invalid_model",
    "messages": "invalid_messages",
    "role": "invalid_role",
    "content": "invalid_content",
    "stream": "stream_unavailable",
    "max_tokens": "invalid_max_tokens",
}
TYPES = {"extra_forbidden": "unknown_field", "missing": "missing_field"}
# If a request has several mistakes, the first in this list is reported.
ORDER = [
    "unknown_field",
    "missing_field",
    "invalid_model",
    "invalid_messages",
    "message.unknown_field",
    "message.missing_field",
    "invalid_role",
    "invalid_content",
    "empty_content",
    "content_too_large",
    "stream_unavailable",
    "invalid_max_tokens",
]


class Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        self.status = status
        self.code = code


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Message(Strict):
    role: Literal["user"]
    content: str

    @field_validator("content")
    @classmethod
    def check_size(cls, content: str) -> str:
        if not content:
            raise PydanticCustomError("empty_content", "empty")
        if len(content.encode()) > 8192:
            raise PydanticCustomError("content_too_large", "too large")
        return content


class Chat(Strict):
    model: Literal["vendor-cabinet-preview-echo"]
    messages: Annotated[list[Message], Field(min_length=1, max_length=1)]
    stream: StrictBool = False
    max_tokens: Annotated[StrictInt, Field(ge=2000, le=2000)] = 2000

    @field_validator("stream")
    @classmethod
    def check_stream(cls, stream: bool) -> bool:
        if stream:
            raise PydanticCustomError("stream_unavailable", "true")
        return stream


async def check_head(request: Request) -> bytes:
    """Return the digest of the key."""
    path = request.scope["path"].encode()
    if request.url.query or request.scope["raw_path"] != path:
        raise Refused(404, "not_found")
    sent = request.headers.getlist("authorization")
    scheme, _, key = "".join(sent).partition(" ")
    digest = sha256(key.strip().encode()).digest()
    if len(sent) != 1 or scheme.lower() != "bearer" or digest not in KEYS:
        raise Refused(401, "invalid_key")
    return digest


async def read_chat(request: Request) -> Chat:
    """Check what FastAPI does not check, in the order of the contract."""
    body = await request.body()
    if len(body) > 32768:
        raise Refused(413, "request_too_large")
    types = request.headers.getlist("content-type")
    media = "".join(types).partition(";")[0].strip().lower()
    encoded = "content-encoding" in request.headers
    if len(types) != 1 or media != "application/json" or encoded:
        raise Refused(415, "unsupported_media_type")
    try:
        found = json.loads(
            body.decode(), object_pairs_hook=unrepeated, parse_constant=refuse_constant
        )
        if b"\\ud" in body.lower():
            json.dumps(found, ensure_ascii=False).encode()  # fails for lone surrogates
    except (ValueError, RecursionError):
        raise Refused(400, "invalid_json") from None
    if not isinstance(found, dict):
        raise Refused(400, "invalid_json")
    try:
        return Chat.model_validate(found)
    except ValidationError as error:
        codes = map(code_of, error.errors(include_url=False))
        raise Refused(400, min(codes, key=ORDER.index).split(".")[-1]) from None


def created_for(digest: bytes) -> int:
    """Return the time, or one second more than the last `created` of the key."""
    now = int(time.time())
    following = max(now, KEYS[digest] + 1)
    KEYS[digest] = following if following <= now + 3600 else now
    return KEYS[digest]


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("repeated name")
    return found


def refuse_constant(name: str) -> None:
    raise ValueError(name)


def code_of(error: Any) -> str:
    place = error["loc"]
    if error["type"] in TYPES:
        prefix = "message." if len(place) > 1 else ""
        return prefix + TYPES[error["type"]]
    if error["type"] in ORDER:
        return error["type"]
    return CODES[[part for part in place if part in CODES][-1]]


app = FastAPI(
    openapi_url=None, redirect_slashes=False, dependencies=[Depends(check_head)]
)


@app.get("/v1/models")
async def models() -> dict[str, Any]:
    model = {"id": MODEL, "object": "model", "owned_by": "vendor"}
    return {"object": "list", "data": [model]}


@app.post("/v1/chat/completions")
async def chat(
    request: Annotated[Chat, Depends(read_chat)],
    digest: Annotated[bytes, Depends(check_head)],
) -> dict[str, Any]:
    content = request.messages[0].content
    tokens = -(-len(content.encode()) // 4)
    message = {"role": "assistant", "content": content}
    return {
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


def refusal(status: int, code: str) -> JSONResponse:
    challenge = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse({"error": {"code": code}}, status, challenge)


@app.exception_handler(Refused)
async def refuse(request: Request, error: Refused) -> JSONResponse:
    return refusal(error.status, error.code)


@app.exception_handler(HTTPException)
async def refuse_path(request: Request, error: HTTPException) -> JSONResponse:
    return refusal(404, "not_found")
