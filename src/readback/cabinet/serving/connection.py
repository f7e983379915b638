"""One connection to the cabinet: a whole request in, a whole answer out.

The event loop reads requests and writes answers; a request gets a thread only after it
has arrived completely, and the thread is free again when the answer is rendered. So a
slow client costs memory and never a thread. gunicorn parses the head; nothing here
knows WSGI or Django.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus

from gunicorn.config import Config as GunicornConfig
from gunicorn.http.errors import ParseException
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader

from readback.cabinet.serving.security_headers import headers_of
from readback.config import Config

# asyncio's streams limit a head to 64 KiB. A body may be larger than the largest form
# that Django accepts, so that Django refuses the form with a page of ours.
MAX_BODY_BYTES = 4 * 65_536
# How long a client may take to close its end after the last answer. Closing earlier
# could destroy that answer on its way (RFC 9112 §9.6).
LINGER_SECONDS = 2

# When the cabinet stops, a younger connection does not count as idle: its first request
# is probably on its way.
FRESH_SECONDS = 1.0

# A TCP address, or the path of a unix socket.
Address = tuple[str, int] | str
# An answer, and whether another request may follow it.
Answer = tuple[bytes, bool]
Respond = Callable[[Request, Address], Awaitable[Answer]]


class RequestRefused(Exception):
    """The request cannot be passed on; the connection is closed after the answer."""

    def __init__(self, status: HTTPStatus) -> None:
        self.status = status


def refusal(status: HTTPStatus, config: Config) -> bytes:
    """Return an answer without a body, which therefore suits HEAD as well."""
    fields = {"Connection": "close", "Content-Length": "0", **headers_of(config)}
    lines = [f"{name}: {value}\r\n" for name, value in fields.items()]
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\n{''.join(lines)}\r\n"
    return head.encode("ascii")


class BufferedConnection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        config: Config,
        gunicorn_config: GunicornConfig,
        respond: Respond,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._config = config
        self._gunicorn_config = gunicorn_config
        self._respond = respond
        self._client: Address = writer.get_extra_info("peername") or ""
        self._is_ended = False
        self._opened_at = time.monotonic()
        # Whether no byte of the next request has arrived.
        self._is_idle = True
        # Since when we have been waiting for the client, if we are.
        self.waiting_since: float | None = self._opened_at
        # `drain` returns when the kernel has everything.
        writer.transport.set_write_buffer_limits(0)

    async def serve(self) -> None:
        """Answer one request after the other until the client or we close."""
        try:
            while await self._exchange():
                self.waiting_since, self._is_idle = time.monotonic(), True
            self._end()
            while await self._reader.read(65_536):
                pass
        except (OSError, EOFError):
            pass  # The client is gone, or too slow for an answer to make sense.
        finally:
            self.abort()

    def end_if_idle(self) -> None:
        """Close our end unless a request has begun or is probably on its way."""
        if self._is_idle and time.monotonic() - self._opened_at >= FRESH_SECONDS:
            self._end()

    def abort(self) -> None:
        self.waiting_since = None
        self._writer.transport.abort()

    async def _exchange(self) -> bool:
        """Answer a request and return whether another may follow."""
        try:
            request = await self._receive()
        except RequestRefused as refused:
            await self._send(refusal(refused.status, self._config))
            return False
        if request is None:
            return False
        self.waiting_since = None
        answer, another_may_follow = await self._respond(request, self._client)
        self.waiting_since = time.monotonic()
        await self._send(answer)
        return another_may_follow

    async def _receive(self) -> Request | None:
        """Return a request with its body, or None if there is none."""
        async with asyncio.timeout(self._config.idle_timeout):
            first = await self._reader.read(1)
        if not first or self._is_ended:
            return None
        self._is_idle = False
        try:
            async with asyncio.timeout(self._config.head_timeout):
                head = first + await self._reader.readuntil(b"\r\n\r\n")
            unreader = IterUnreader([head])
            request = Request(self._gunicorn_config, unreader, self._client)
        except TimeoutError:
            raise RequestRefused(HTTPStatus.REQUEST_TIMEOUT) from None
        except asyncio.LimitOverrunError:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise RequestRefused(status) from None
        except ParseException:
            raise RequestRefused(HTTPStatus.BAD_REQUEST) from None
        await self._receive_body(request)
        return request

    async def _receive_body(self, request: Request) -> None:
        """Receive the body; refuse one that is too large or chunked.

        Django reads no more of a body than Content-Length says, so a chunked form would
        look empty. No browser sends one.
        """
        fields = dict(request.headers)
        if "TRANSFER-ENCODING" in fields:
            raise RequestRefused(HTTPStatus.LENGTH_REQUIRED)
        # gunicorn has refused what is not a number, or is there twice.
        length = int(fields.get("CONTENT-LENGTH", 0))
        if length > MAX_BODY_BYTES:
            raise RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if getattr(request, "_expected_100_continue", False):
            # gunicorn would send this when the application starts.
            setattr(request, "_expected_100_continue", False)  # noqa: B010
            await self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            async with asyncio.timeout(self._config.body_timeout):
                request.unreader.unread(await self._reader.readexactly(length))
        except TimeoutError:
            raise RequestRefused(HTTPStatus.REQUEST_TIMEOUT) from None

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        async with asyncio.timeout(self._config.drain_timeout):
            await self._writer.drain()

    def _end(self) -> None:
        """Close our end; the client has a moment to close its own."""
        if not self._is_ended:
            self._is_ended = True
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self.abort)
            with suppress(OSError):  # The client has reset the connection.
                self._writer.write_eof()
