"""What counts as ready, and the requests that find out.

The API is ready if it refuses a request without a key, because nothing else is served
on its address; the ops listener and the cabinet answer their health checks.
"""

import json
import socket
import ssl
import threading
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
)

import click

from readback.contract import MODELS_PATH, REFUSALS, VERSION_PREFIX
from readback.http_client import MAX_BODY_BYTES, BoundedConnection, SocketAddress, get
from readback.setting_values import is_loopback

_LOCAL_SECONDS = 1
_POLL_SECONDS = 0.2
# For one answer: a request that was lost must not use up all the time.
_ANSWER_SECONDS = 5
_READY_PATH, _HEALTH_PATH = "/readyz", "/healthz"
_NO_KEY = REFUSALS["invalid_key"]
# Of another server than the one that has the path. The cabinet answers 400 if its own
# address has another name, except to health checks.
_ELSEWHERE = (400, 404)


def has_started(address: SocketAddress, path: str, text: bytes = b"") -> bool:
    """Return whether the listener at the address answers 200 and with this text."""
    try:
        status, body = get(f"http://localhost{path}", _LOCAL_SECONDS, address)
    except (OSError, HTTPException, ValueError):
        return False
    return status == 200 and text in body


class Attempts:
    """Asks again and again, and remembers what it saw last."""

    def __init__(self, url: str) -> None:
        self._url = url
        # This machine itself, with all its names, is never asked through a proxy.
        host = urlsplit(url).hostname or ""
        is_local = is_loopback(host) or host.endswith(".localhost")
        proxies = ProxyHandler({} if is_local else None)
        self._opener = build_opener(proxies, _BoundedHandler())
        self.last_seen = "no answer yet"
        self.succeeded = threading.Event()

    def run(self) -> None:
        self._attempt()
        if not self.succeeded.is_set():
            click.echo(f"Waiting for {self._url}: {self.last_seen}.", err=True)
        while not self.succeeded.wait(_POLL_SECONDS):
            self._attempt()

    def _attempt(self) -> None:
        try:
            if self._is_ready():
                self.succeeded.set()
        except (OSError, HTTPException, ValueError) as error:
            self.last_seen = _reason(error)

    def _is_ready(self) -> bool:
        """Ask the paths in turn, until one belongs to this server."""
        paths: tuple[str, ...] = (MODELS_PATH, _READY_PATH, _HEALTH_PATH)
        if self._url.endswith(VERSION_PREFIX):
            paths = (MODELS_PATH.removeprefix(VERSION_PREFIX),)
        for path in paths:
            status, body = self._get(self._url + path)
            self.last_seen = f"it answered {path} with status {status}"
            if status in _ELSEWHERE:
                continue
            if path in (_READY_PATH, _HEALTH_PATH):
                return status == 200
            # Whether this is how our API refuses a request without a key.
            with suppress(ValueError, LookupError, TypeError):
                code: object = json.loads(body)["error"]["code"]
                return status == _NO_KEY.status and code == _NO_KEY.code
            return False
        return False

    def _get(self, url: str) -> tuple[int, bytes]:
        """Return the status and the beginning of the body, whatever the status is."""
        try:
            answer = self._opener.open(url, timeout=_ANSWER_SECONDS)
        except HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.read(MAX_BODY_BYTES)


class _BoundedHandler(HTTPHandler, HTTPSHandler):
    """Lets urllib follow redirects and find proxies, which `http_client.get` cannot."""

    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(BoundedConnection, request)  # type: ignore[arg-type]

    def https_open(self, request: Request) -> HTTPResponse:
        return self.do_open(BoundedConnection, request, is_tls=True)  # type: ignore[arg-type]


def _reason(error: Exception) -> str:
    """Return why there was no answer, in words."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        return _reason(error.reason)
    match error:
        case ConnectionRefusedError():
            return "connection refused"
        case socket.gaierror():
            return "the name of the host was not found"
        case TimeoutError():
            return f"no answer within {_ANSWER_SECONDS} seconds"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted ({error.verify_message})"
        case ssl.SSLError():
            return "it does not answer with TLS; does the address begin with http://?"
        case HTTPException():
            return "it does not answer with HTTP; does the address begin with https://?"
        case OSError():
            return (error.strerror or str(error)).lower()
    return "the name of the host is not valid"
