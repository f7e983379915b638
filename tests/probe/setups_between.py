"""Sets up what can be between the probe and the service: filters, caches, firewalls."""

import re
import threading
from collections.abc import Callable

from tests.probe import corruptions
from tests.probe.relay import Request, RequestFilter, Response

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
