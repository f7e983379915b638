"""What a head means for its request, and how a listener determines that.

The heads of one program differ only in the key, in the addresses that proxies add, in
the length of the body, and in fields that nothing reads. The meaning contains none of
these; the first three are returned separately.
"""

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from readback.http.head import HEAD_END, Head, parse

Info = TypeVar("Info")

FORWARDED = b"x-forwarded-for"
# RFC 9110 §5.6.1: a list has commas between its members, and optional white space.
_CLOSE = re.compile(rb"(?:\A|,)[ \t]*+close[ \t]*+(?:,|\Z)")
_KEEP_ALIVE = re.compile(rb"(?:\A|,)[ \t]*+keep-alive[ \t]*+(?:,|\Z)")


class Meaning(Generic[Info]):
    """What a head tells the connection and the handler."""

    def __init__(self, head: Head, info: Info) -> None:
        self.info = info
        self.is_http_10 = head.is_http_10
        # RFC 9110 §9.3.6: a successful CONNECT would turn the connection into a tunnel.
        # We refuse it, and read nothing after it.
        self.keep_alive = head.method != b"CONNECT" and _persists(head)
        self.chunked = b"transfer-encoding" in head.fields
        # RFC 9110 §10.1.1: HTTP/1.0 clients do not understand 100 (Continue).
        expectation = (head.first(b"expect") or b"").lower()
        self.expects_continue = expectation == b"100-continue" and not self.is_http_10
        # RFC 9110 §9.3.2: the answer to HEAD has no body.
        self.wants_no_body = head.method == b"HEAD"
        # Whether an answer is sent exactly as the handler has made it.
        self.is_plain = (
            self.keep_alive and not self.is_http_10 and not self.wants_no_body
        )
        # Whether a pattern recognizes heads with this meaning.
        self.is_learned = False

    def may_skip_body(self) -> bool:
        """Return whether to drop the body and keep the connection open."""
        # A client that expects 100 (Continue) may or may not send the body now.
        return self.keep_alive and not self.chunked and not self.expects_continue


# The meaning of a head, its key, the addresses in X-Forwarded-For, and the declared
# length of the body.
Understood = tuple[Meaning[Info], bytes, bytes, int]


class Heads(Generic[Info]):
    """Understands the heads of one listener, using its handler's `describe`."""

    def __init__(self, describe: Callable[[Head], Info], max_fields: int) -> None:
        self._describe = describe
        self._max_fields = max_fields

    def understand(self, data: bytes) -> Understood[Info]:
        """Return what a complete head means; raise `Refused` if it is invalid.

        The result depends on nothing but these bytes.
        """
        head = parse(data, self._max_fields)
        # RFC 9110 §8.6. llhttp limits the number but not its leading zeros, and Python
        # refuses to convert thousands of digits.
        digits = (head.first(b"content-length") or b"").lstrip(b"0")
        meaning = Meaning(head, self._describe(head))
        addresses = b",".join(head.all(FORWARDED))
        return meaning, head.key, addresses, int(digits or b"0")

    def note_accepted(self, data: bytes, meaning: Meaning[Info]) -> None:
        """Learn a head that had an accepted key and that no pattern recognizes yet."""

    def tick(self) -> None:
        """Do periodic work; called twice a second."""


def complete(
    answer: bytes, meaning: Meaning[Any] | None, *, closing: bool, bodiless: bool
) -> bytes:
    """Return a handler's answer as it is sent, with the Connection header if needed."""
    if closing:
        # RFC 9112 §9.6: announce that we will close the connection.
        answer = answer.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    elif meaning is not None and meaning.is_http_10:
        # RFC 9112 §9.3: HTTP/1.0 clients need this to keep the connection open.
        answer = answer.replace(b"\r\n", b"\r\nConnection: keep-alive\r\n", 1)
    if bodiless:
        # RFC 9110 §9.3.2: the same headers as for GET, and no body.
        return answer[: answer.index(HEAD_END) + len(HEAD_END)]
    return answer


def _persists(head: Head) -> bool:
    """Return whether the connection stays open after this request.

    RFC 9112 §9.3: not if the connection options contain `close`; with HTTP/1.0, only if
    they contain `keep-alive`. Options are case-insensitive (RFC 9110 §7.6.1).
    """
    options = b",".join(head.all(b"connection")).lower()
    if head.is_http_10 and not _KEEP_ALIVE.search(options):
        return False
    return b"close" not in options or not _CLOSE.search(options)
