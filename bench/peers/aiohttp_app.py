"""aiohttp's server on uvloop. Run as `aiohttp_app.py PORT`."""

import sys

import uvloop
from aiohttp import web
from echo import (
    MAX_BODY,
    MODELS,
    Refused,
    check_key,
    check_media_type,
    completion,
    read,
)


async def models(request: web.Request) -> web.Response:
    return web.Response(body=MODELS, content_type="application/json")


async def chat(request: web.Request) -> web.Response:
    check_media_type(request.headers.get("Content-Type"))
    body = completion(read(await request.read()))
    return web.Response(body=body, content_type="application/json")


@web.middleware
async def contract(request: web.Request, handler) -> web.StreamResponse:
    try:
        if request.match_info.http_exception or request.query_string:
            raise Refused(404, "not_found")
        check_key(request.headers.get("Authorization"))
        return await handler(request)
    except Refused as refused:
        status, body = refused.status, refused.body
    except web.HTTPRequestEntityTooLarge:
        too_large = Refused(413, "request_too_large")
        status, body = too_large.status, too_large.body
    return web.Response(status=status, body=body, content_type="application/json")


async def build() -> web.Application:
    app = web.Application(middlewares=[contract], client_max_size=MAX_BODY)
    app.router.add_get("/v1/models", models, allow_head=False)
    app.router.add_post("/v1/chat/completions", chat)
    return app


if __name__ == "__main__":
    web.run_app(
        build(),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        access_log=None,
        print=None,
        loop=uvloop.new_event_loop(),
    )
