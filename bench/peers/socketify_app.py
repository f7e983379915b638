"""socketify, Python on uWebSockets. Run as `socketify_app.py PORT [FILE]`.

With a file it returns a constant, the content of the file; without, it keeps the
contract.
"""

import platform
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

# It would look for that library on any Linux machine.
if platform.machine() != "x86_64":
    sys.exit("the package contains a library for x86-64 alone")

from socketify import App, AppListenOptions


async def contract(response, request) -> None:
    try:
        body = await answer(response, request)
    except Refused as refused:
        status, body = refused.status, refused.body
    else:
        status = 200
    response.cork(lambda response: send(response, status, body))


async def answer(response, request) -> bytes:
    # The URL includes its parameters. The head can be read only before the first await.
    endpoint = (request.get_method(), request.get_full_url())
    if endpoint not in (("GET", "/v1/models"), ("POST", "/v1/chat/completions")):
        raise Refused(404, "not_found")
    check_key(request.get_header("authorization"))
    if endpoint[0] == "GET":
        return MODELS
    if int(request.get_header("content-length") or 0) > MAX_BODY:
        raise Refused(413, "request_too_large")
    check_media_type(request.get_header("content-type"))
    data = await response.get_data()
    return completion(read(data.getvalue()))


def send(response, status: int, body: bytes) -> None:
    response.write_status(status)
    response.write_header(b"Content-Type", b"application/json")
    response.write_header(b"Cache-Control", b"no-store")
    response.end(body)


def constant(body: bytes):
    def handler(response, request) -> None:
        send(response, 200, body)

    return handler


if __name__ == "__main__":
    files = sys.argv[2:]
    # Reuses the objects of requests, as its documentation advises.
    app = App(request_response_factory_max_items=1000)
    app.any("/*", constant(Path(files[0]).read_bytes()) if files else contract)
    app.listen(AppListenOptions(port=int(sys.argv[1]), host="127.0.0.1"))
    app.run()
