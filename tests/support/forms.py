"""The cabinet's forms, sent without waiting for their answers."""

import re
from contextlib import ExitStack

import httpx

from tests.support.wire import Connection, Endpoint

LOGIN = "/accounts/login/"


def filled(visitor: httpx.Client, path: str, **fields: str) -> httpx.Request:
    """Return a request that sends a form, with the token from the login page."""
    page = visitor.get(LOGIN)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    fields["csrfmiddlewaretoken"] = token[1]
    headers = {"Referer": f"{visitor.base_url}"}
    return visitor.build_request("POST", path, data=fields, headers=headers)


def send(stack: ExitStack, request: httpx.Request) -> Connection:
    """Send a request without waiting for its answer."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    head = f"{request.method} {request.url.raw_path.decode()} HTTP/1.1\r\n{fields}\r\n"
    client = stack.enter_context(Endpoint.of(str(request.url)).connect())
    client.send(head.encode() + request.read())
    return client
