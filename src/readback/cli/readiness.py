"""What counts as ready, and the requests that find out.

The API is ready if it refuses a request without a key, because nothing else is served
on its address; the ops listener and the cabinet answer their health checks.
"""

import json
import socket
import ssl
import threading
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import OpenerDirector, ProxyHandler, build_opener

import click

from readback.contract import MODELS_PATH, REFUSALS, VERSION_PREFIX
from readback.setting_values import is_loopback

_LOCAL_SECONDS = 1
_POLL_SECONDS = 0.2
# For one answer: a request that was lost must not use up all the time.
_ANSWER_SECONDS = 5
_READY_PATH, _HEALTH_PATH = "/readyz", "/healthz"
_NO_KEY = REFUSALS["invalid_key"]
# More than any answer that counts as ready.
_MAX_BYTES = 4096


class ReadinessCheck:
    """A request to the address of a listener, which may be a Unix socket.

    The address is read at once, so the listener may be closed afterwards.
    """

    def __init__(self, listener: socket.socket, path: str) -> None:
        self._family = listener.family
        self._address = listener.getsockname()
        self._path = path

    def passes(self) -> bool:
        """Return whether the answer is 200."""
        with closing(HTTPConnection("localhost")) as connection:
            connection.sock = socket.socket(self._family)
            connection.sock.settimeout(_LOCAL_SECONDS)
            try:
                connection.sock.connect(self._address)
                connection.request("GET", self._path)
                answer = connection.getresponse()
                answer.read()
            except (OSError, HTTPException):
                return False
            return answer.status == 200


class Attempts:
    """Asks again and again, and remembers what it saw last."""

    def __init__(self, url: str) -> None:
        self._url = url
        # This machine itself is never asked for through a proxy.
        is_local = is_loopback(urlsplit(url).hostname or "")
        self._opener = build_opener(*([ProxyHandler({})] if is_local else []))
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
        """Ask the paths in turn: 404 says that it is another of the three servers."""
        paths: tuple[str, ...] = (MODELS_PATH, _READY_PATH, _HEALTH_PATH)
        if self._url.endswith(VERSION_PREFIX):
            paths = (MODELS_PATH.removeprefix(VERSION_PREFIX),)
        for path in paths:
            status, body = _get(self._opener, self._url + path, _ANSWER_SECONDS)
            self.last_seen = f"it answered {path} with status {status}"
            if status != 404:
                is_check = path in (_READY_PATH, _HEALTH_PATH)
                return status == 200 if is_check else _needs_key(status, body)
        return False


def _get(opener: OpenerDirector, url: str, seconds: float) -> tuple[int, bytes]:
    """Return the status and the beginning of the body, whatever the status is."""
    try:
        answer = opener.open(url, timeout=seconds)
    except HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.read(_MAX_BYTES)


def _needs_key(status: int, body: bytes) -> bool:
    """Return whether this is how our API refuses a request without a key."""
    try:
        code: object = json.loads(body)["error"]["code"]
    except (ValueError, LookupError, TypeError):
        return False
    return status == _NO_KEY.status and code == _NO_KEY.code


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
