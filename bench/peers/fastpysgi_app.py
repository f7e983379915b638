"""FastPySGI, a WSGI server in C. Run as `fastpysgi_app.py PORT [FILE]`.

With a file it returns a constant, the content of the file; without, it keeps the
contract.
"""

import sys
from http import HTTPStatus
from pathlib import Path

import fastpysgi
from echo import (
    MAX_BODY,
    MODELS,
    Refused,
    check_key,
    check_media_type,
    completion,
    read,
)

JSON = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]


def contract(environ, start_response):
    try:
        status, body = "200 OK", answer(environ)
    except Refused as refused:
        reason = HTTPStatus(refused.status).phrase
        status, body = f"{refused.status} {reason}", refused.body
    start_response(status, JSON)
    return [body]


def answer(environ) -> bytes:
    endpoint = (environ["REQUEST_METHOD"], environ["PATH_INFO"])
    known = endpoint in (("GET", "/v1/models"), ("POST", "/v1/chat/completions"))
    if not known or environ["QUERY_STRING"]:
        raise Refused(404, "not_found")
    check_key(environ.get("HTTP_AUTHORIZATION"))
    if endpoint[0] == "GET":
        return MODELS
    if int(environ.get("CONTENT_LENGTH") or 0) > MAX_BODY:
        raise Refused(413, "request_too_large")
    check_media_type(environ.get("CONTENT_TYPE"))
    return completion(read(environ["wsgi.input"].read()))


def constant(body: bytes):
    def app(environ, start_response):
        start_response("200 OK", JSON)
        return [body]

    return app


if __name__ == "__main__":
    files = sys.argv[2:]
    app = constant(Path(files[0]).read_bytes()) if files else contract
    fastpysgi.run(app, host="127.0.0.1", port=int(sys.argv[1]))
