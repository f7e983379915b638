"""Sets up what can be between the probe and the service: filters, caches, firewalls."""

import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate

from tests.probe import corruptions
from tests.probe.relay import Request, RequestFilter, Response, ResponseFilter, relay
from tests.probe.setups import Arrange, ProbeInput, Resources, host_and_port

IDLE = 0.6
_FORGOTTEN_AFTER = 0.3
_NEVER = threading.Event()
_HANG_SECONDS = 30.0

Match = Callable[[Request], object]

# Filters of requests; some respond in place of the service.


def of(agents: str) -> Match:
    """Match the requests of the programs whose User-Agent matches the pattern."""
    return lambda request: re.search(agents, request.headers["User-Agent"])


def larger_than(size: int) -> Match:
    return lambda request: len(request.body) > size


def refusing(match: Match, status: int = 403, title: bytes = b"No") -> RequestFilter:
    body = corruptions.PAGE % title
    page = Response(status, "No", {"Content-Type": "text/html"}, body)
    return lambda request: page if match(request) else request


def redirect(location: str, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(302, "Found", {"Location": location, **named}, b"")


def cutting(match: Match) -> RequestFilter:
    def change(request: Request) -> Request:
        if match(request):
            raise ConnectionAbortedError
        return request

    return change


def hanging(match: Match) -> RequestFilter:
    def change(request: Request) -> Request:
        if match(request):
            _NEVER.wait(_HANG_SECONDS)
        return request

    return change


def change_authorization(change: Callable[[str], str]) -> RequestFilter:
    def rewrite(request: Request) -> Request:
        if not (value := request.headers.get("Authorization")):
            return request
        headers = {**request.headers, "Authorization": change(value)}
        return replace(request, headers=headers)

    return rewrite


# Filters of responses.


def hanging_above(size: int) -> ResponseFilter:
    def change(response: Response) -> Response:
        if len(response.body) > size:
            _NEVER.wait(_HANG_SECONDS)
        return response

    return change


def with_headers(**headers: str) -> ResponseFilter:
    return lambda response: response.with_body(response.body, **headers)


def without_id(response: Response) -> Response:
    """Remove X-Request-Id, but only from successes."""
    if response.status != 200:
        return response
    kept = {k: v for k, v in response.headers.items() if k != "X-Request-Id"}
    return replace(response, headers=kept)


def with_field(response: Response) -> Response:
    content = json.loads(response.body) | {"gateway": {"region": "eu"}}
    return response.with_body(json.dumps(content).encode())


def with_content_type(value: str) -> ResponseFilter:
    return with_headers(Content_Type=value)


def compressed_as(coding: str) -> ResponseFilter:
    """Compress, and name a coding that this test has no program for."""
    return lambda response: response.with_body(
        zlib.compress(response.body), Content_Encoding=coding
    )


def as_http_1_0(response: Response) -> Response:
    kept_alive = response.with_body(response.body, Connection="keep-alive")
    return replace(kept_alive, version="HTTP/1.0")


def dated(seconds: int) -> ResponseFilter:
    """A clock that is ahead by this many seconds writes the date."""

    def change(response: Response) -> Response:
        date = formatdate(time.time() + seconds, usegmt=True)
        return response.with_body(response.body, Date=date)

    return change


# Arrangements.


def with_clocks(service: int, cabinet: int, cabinet_host: str) -> Arrange:
    """The clocks of the service and its cabinet are ahead by this many seconds."""

    @contextmanager
    def arrange(resources: Resources) -> Iterator[ProbeInput]:
        upstream = resources.readback.base_url
        with relay(upstream, on_response=dated(service)) as api:
            url = f"http://{host_and_port(api)}/v1"
            shown = Response(200, "OK", {}, json.dumps({"base_url": url}).encode())
            showing = dated(cabinet)
            with relay(
                upstream, on_response=lambda _: showing(shown), host=cabinet_host
            ) as pages:
                cabinet_url = f"http://{host_and_port(pages)}"
                key = resources.readback.api_key
                yield ProbeInput(url, key, cabinet=cabinet_url)

    return arrange
