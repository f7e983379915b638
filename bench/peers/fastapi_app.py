"""FastAPI on uvicorn: pydantic checks the body, a dependency checks key and query."""

import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import Depends, FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StrictInt, field_validator
from starlette.exceptions import HTTPException

MODEL = "vendor-cabinet-preview-echo"
KEYS = {
    sha256(key).digest() for key in Path(os.environ["BENCH_KEYS"]).read_bytes().split()
}
# The error code for an invalid value, by field.
CODES = {
    "model": "invalid_model",
    "messages": "invalid_messages",
    "role": "invalid_role",
    "content": "invalid_content",
    "stream": "stream_unavailable",
    "max_tokens": "invalid_max_tokens",
}


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
            raise Refused(400, "empty_content")
        if len(content.encode()) > 8192:
            raise Refused(400, "content_too_large")
        return content


class Chat(Strict):
    model: Literal["vendor-cabinet-preview-echo"]
    messages: Annotated[list[Message], Field(min_length=1, max_length=1)]
    stream: Literal[False] = False
    max_tokens: Annotated[StrictInt, Field(ge=2000, le=2000)] = 2000


def check_head(request: Request, authorization: Annotated[str, Header()] = "") -> None:
    if request.url.query:
        raise Refused(404, "not_found")
    scheme, _, key = authorization.partition(" ")
    accepted = sha256(key.strip().encode()).digest() in KEYS
    if scheme.lower() != "bearer" or not accepted:
        raise Refused(401, "invalid_key")
    if int(request.headers.get("content-length", 0)) > 32768:
        raise Refused(413, "request_too_large")


app = FastAPI(
    openapi_url=None, redirect_slashes=False, dependencies=[Depends(check_head)]
)


@app.get("/v1/models")
async def models() -> dict[str, Any]:
    model = {"id": MODEL, "object": "model", "owned_by": "vendor"}
    return {"object": "list", "data": [model]}


@app.post("/v1/chat/completions")
async def chat(request: Chat) -> dict[str, Any]:
    content = request.messages[0].content
    tokens = -(-len(content.encode()) // 4)
    message = {"role": "assistant", "content": content}
    return {
        "id": str(uuid4()),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": tokens,
            "total_tokens": 2 * tokens,
        },
    }


def refusal(status: int, code: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code}}, status)


@app.exception_handler(Refused)
async def refuse(request: Request, error: Refused) -> JSONResponse:
    return refusal(error.status, error.code)


@app.exception_handler(HTTPException)
async def refuse_path(request: Request, error: HTTPException) -> JSONResponse:
    return refusal(404, "not_found")


@app.exception_handler(RequestValidationError)
async def refuse_body(request: Request, error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    by_type = {"extra_forbidden": "unknown_field", "missing": "missing_field"}
    fields = [part for part in first["loc"] if part in CODES]
    by_field = CODES[fields[-1]] if fields else "invalid_json"
    return refusal(400, by_type.get(first["type"], by_field))
