"""Send one HTTP request, and record the bytes that are sent and received.

For pages that show what goes over the wire, so it needs more of an answer than
`http_client.get`: every byte, how long it took, and why it is not complete. No redirect
is followed, and no proxy is used. Nothing here knows keys, the contract or Django.
"""

import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException, HTTPResponse, IncompleteRead
from socket import AF_UNIX
from urllib.parse import SplitResult, urlsplit

from readback.http_client import AnswerTooLarge, BoundedConnection, Slots

# From the look-up of the name to the last byte of the answer.
SECONDS = 5.0
# How much longer a page waits for an exchange that should have ended.
_GRACE_SECONDS = 1.0
# Per process, which has eight threads for pages.
MAX_AT_ONCE = 2
_PART_BYTES = 16_384

_slots = Slots(MAX_AT_ONCE)


@dataclass
class RecordedExchange:
    """What was sent and received; filled in while it happens."""

    sent: bytes = b""
    received: bytes = b""
    seconds: float = 0.0
    # None if the answer has no readable head.
    response: HTTPResponse | None = None
    # The body without its transfer coding.
    body: bytes = b""
    # Why there is no complete answer, in English.
    problem: str = ""


def post(
    url: str, unix_socket: str, headers: Mapping[str, str | bytes], body: bytes
) -> RecordedExchange:
    """Send a POST request to a URL, or to the unix socket that serves it, if any.

    Raise `NoFreeSlot` if too many are running.
    """
    exchange = partial(_exchange, urlsplit(url), unix_socket, headers, body)
    try:
        return _slots.run(exchange, SECONDS + _GRACE_SECONDS)
    except TimeoutError as error:  # the look-up of the name has no deadline of its own
        return RecordedExchange(seconds=SECONDS, problem=_problem(error))


def _exchange(
    url: SplitResult, unix_socket: str, headers: Mapping[str, str | bytes], body: bytes
) -> RecordedExchange:
    begun, exchange = time.monotonic(), RecordedExchange()
    connection = BoundedConnection(
        url.hostname or "",
        url.port,
        timeout=SECONDS,
        is_tls=url.scheme == "https",
        address=(AF_UNIX, unix_socket) if unix_socket else None,
    )
    with closing(connection):
        try:
            connection.connect()
            # The server may refuse a large request before it has read all of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", url.path, body, headers)
            exchange.response = connection.getresponse()
            with exchange.response as response:
                while part := response.read(_PART_BYTES):
                    exchange.body += part
                if response.length:
                    raise IncompleteRead(b"", response.length)
        except (OSError, HTTPException, ValueError) as error:
            exchange.problem = _problem(error)
    exchange.sent = bytes(connection.sent)
    exchange.received = bytes(connection.received)
    exchange.seconds = time.monotonic() - begun
    return exchange


def _problem(error: Exception) -> str:
    match error:
        case AnswerTooLarge():
            return "The answer is too large for the API."
        case TimeoutError():
            return f"No complete answer within {SECONDS:g} seconds."
        case ConnectionResetError() | IncompleteRead():
            return "The connection was closed before the answer was complete."
        case OSError():  # what the operating system or OpenSSL says about it
            names = ("verify_message", "reason", "strerror")
            said = filter(None, (getattr(error, name, "") for name in names))
            return f"{next(said, error)}."
        case _:
            return "The answer is not HTTP."
