"""Robyn, Python on a server in Rust. Run as `robyn_app.py PORT [FILE]`.

With a file it returns a constant, the content of the file; without, it keeps the
contract.
"""

import sys
from pathlib import Path

from echo import (
    MAX_BODY,
    MODELS,
    Refused,
    check_key,
    check_media_type,
    completion,
    read,
)
from robyn import Config, Headers, Request, Response, Robyn

JSON = Headers({"Content-Type": "application/json", "Cache-Control": "no-store"})
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def contract(request: Request) -> Response:
    try:
        return Response(200, JSON, answer(request))
    except Refused as refused:
        return Response(refused.status, JSON, refused.body)


def answer(request: Request) -> bytes:
    endpoint = (request.method, request.url.path)
    known = endpoint in (("GET", "/v1/models"), ("POST", "/v1/chat/completions"))
    if not known or not request.query_params.empty():
        raise Refused(404, "not_found")
    headers = request.headers
    check_key(headers.get("authorization"))
    if endpoint[0] == "GET":
        return MODELS
    if int(headers.get("content-length") or 0) > MAX_BODY:
        raise Refused(413, "request_too_large")
    check_media_type(headers.get("content-type"))
    # Text if it is UTF-8, otherwise bytes.
    body = request.body
    return completion(read(body.encode() if isinstance(body, str) else body))


def constant(body: bytes):
    response = Response(200, JSON, body)

    def handler() -> Response:
        return response

    return handler


if __name__ == "__main__":
    files = sys.argv[2:]
    config = Config()
    config.log_level, config.disable_openapi = "WARN", True
    app = Robyn(__file__, config)
    handler = constant(Path(files[0]).read_bytes()) if files else contract
    for method in METHODS:
        app.add_route(method, "/*path", handler)
    app.start(host="127.0.0.1", port=int(sys.argv[1]))
