"""The cabinet's HTTP handler, which runs Django's WSGI application in threads.

The API uses the same code for its connections (`readback.http`). A thread gets a
request only after all of it has arrived, and is free again once the answer is rendered,
so a slow client occupies no thread. Nothing here depends on Django.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from readback import logs
from readback.cabinet.serving.security_headers import headers_of
from readback.config import Config
from readback.contract import (
    CHAT_PATH,
    MODELS_PATH,
    REFUSALS,
    VERSION_PREFIX,
    reason_phrase,
)
from readback.http.handler import Outcome, RequestOrigin
from readback.http.head import Head
from readback.http.meaning import Understood
from readback.processes.shared_counters import SharedCounters, WorkerCounters

THREADS = 8
# Forms get at most half of the threads, because many sign-ups at once, which hash
# passwords, must not delay other pages.
FORM_THREADS = THREADS // 2
# The limit on the total size of bodies being answered. Requests beyond it are refused.
MAX_BODIES_BYTES = 16 << 20
# What a program requests if its base URL is the cabinet's address.
_VERSION = f"{VERSION_PREFIX}/".encode()
_ENDPOINTS = tuple(
    path.removeprefix(VERSION_PREFIX).encode() for path in (CHAT_PATH, MODELS_PATH)
)
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)

_log = logging.getLogger("readback.cabinet.pages")

# Keys of the WSGI environ, for the service's state and the page counts.
LIFECYCLE = "readback.lifecycle"
PAGES = "readback.pages"
OTHER = "other"
STATUSES = (200, 204, 301, 302, 304, 400, 403, 404, 405, 429, 500, 502, 503, OTHER)

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Any]


class Pages:
    """Passes requests to the application, and its answers back to the connections."""

    def __init__(
        self, application: Application, config: Config, environ: Environ
    ) -> None:
        """`environ` is the part of the WSGI environ that all requests share."""
        self._application = application
        self._environ = environ
        self._headers = [*headers_of(config).items()]
        self._base_url = config.base_url
        self._threads = ThreadPoolExecutor(THREADS, "request")
        self._forms = asyncio.Semaphore(FORM_THREADS)
        self._bodies_bytes = 0
        # The event loop itself keeps only weak references to tasks.
        self._tasks: set[asyncio.Task[None]] = set()

    def describe(self, head: Head) -> Head:
        return head

    def begin(self, request: Understood[Head], origin: RequestOrigin) -> Outcome:
        meaning, *_ = request
        head = meaning.info
        path = head.target.partition(b"?")[0]
        if (path + b"/").startswith(_VERSION) or path.endswith(_ENDPOINTS):
            return self._lead_to_api()
        return Page(self, head, origin)

    def _lead_to_api(self) -> bytes:
        """Refuse a request for the API with a JSON error, which most programs show."""
        message = f"This is the cabinet; the API is at {self._base_url}"
        error = {"error": {"code": "not_found", "message": message}}
        body = json.dumps(error, separators=(",", ":")).encode()
        headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
        return _render(HTTPStatus.NOT_FOUND, headers + self._headers, body)

    def answer(self, head: Head, body: bytes, origin: RequestOrigin) -> bytes | None:
        """Pass a request to a thread; `origin.resume` gets the answer later."""
        if self._bodies_bytes + len(body) > MAX_BODIES_BYTES:
            return self.refuse("unavailable", "")
        self._bodies_bytes += len(body)
        task = asyncio.create_task(self._answer_later(head, body, origin))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        """Return a refusal; it has no body, so it also suits HEAD."""
        return _render(REFUSALS[code].status, self._headers, b"")

    def fail(self, error: Exception, info: Head | None) -> bytes:
        _log.error("A request failed: %s", logs.describe_error(error))
        return self.refuse("internal_error", "")

    def stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _answer_later(
        self, head: Head, body: bytes, origin: RequestOrigin
    ) -> None:
        loop = asyncio.get_running_loop()
        run = partial(self._run_application, head, body, origin.address)
        try:
            if head.method in (b"GET", b"HEAD"):
                answer = await loop.run_in_executor(self._threads, run)
            else:
                async with self._forms:
                    answer = await loop.run_in_executor(self._threads, run)
        finally:
            self._bodies_bytes -= len(body)
        origin.resume(answer)

    def _run_application(self, head: Head, body: bytes, address: str) -> bytes:
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]]) -> None:
            started.append((status, headers))

        try:
            environ = self._environ | environ_of(head, body, address)
            with closing(self._application(environ, start_response)) as parts:
                content = b"".join(parts)
            [(status, headers)] = started
            return _render(int(status[:3]), headers, content)
        except Exception as error:
            return self.fail(error, head)


class PageCounts:
    """Counts a worker's pages; all of its threads share the counts."""

    def __init__(self, counters: SharedCounters, row: WorkerCounters) -> None:
        self.counters = counters
        self._row = row
        self._lock = threading.Lock()

    def count(self, code: int) -> None:
        with self._lock:
            self._row.add(code if code in STATUSES else OTHER)


class Page:
    def __init__(self, pages: Pages, head: Head, origin: RequestOrigin) -> None:
        self._pages = pages
        self._head = head
        self._origin = origin

    def answer(self, body: bytes) -> bytes | None:
        return self._pages.answer(self._head, body, self._origin)

    def refuse(self, code: str, detail: str, size: int) -> bytes:
        return self._pages.refuse(code, detail)


def server_environ(address: tuple[str, int] | str) -> Environ:
    """Return what Django needs of PEP 3333 that all requests to a socket share."""
    host, port = ("localhost", 0) if isinstance(address, str) else address[:2]
    return {
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        # Behind a trusted proxy, Django reads X-Forwarded-Proto.
        "wsgi.url_scheme": "http",
    }


def environ_of(head: Head, body: bytes, address: str) -> Environ:
    """Return a request's environ (PEP 3333), with bytes decoded as Latin-1."""
    path, _, query = head.target.partition(b"?")
    environ: Environ = {
        "REQUEST_METHOD": head.method.decode(),
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
        "SERVER_PROTOCOL": "HTTP/1.0" if head.is_http_10 else "HTTP/1.1",
        "REMOTE_ADDR": address,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
    }
    for name, values in head.fields.items():
        # X_Forwarded_For would end up in the same variable as X-Forwarded-For.
        if b"_" in name or name in (b"content-length", b"transfer-encoding"):
            continue
        separator = b"; " if name == b"cookie" else b","
        variable = name.decode().upper().replace("-", "_")
        if variable != "CONTENT_TYPE":
            variable = f"HTTP_{variable}"
        environ[variable] = separator.join(values).decode("latin-1")
    return environ


def _render(status: int, headers: list[tuple[str, str]], body: bytes) -> bytes:
    """Return an answer that lacks only the Connection header."""
    status_line = f"HTTP/1.1 {status:d} {reason_phrase(status)}"
    lines = [status_line, f"Date: {formatdate(usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    names = {name.lower() for name, _ in headers}
    if status in _WITHOUT_BODY:
        body = b""
    elif "content-length" not in names:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise ValueError("a header of the application contains a line break")
    return f"{head}\r\n\r\n".encode("latin-1") + body
