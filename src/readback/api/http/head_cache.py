"""Recognise heads that have been received before, instead of parsing them again.

Clients send few distinct heads, and equal bytes mean the same on any connection. The
key is cut out first, if it has its usual form `Authorization: Bearer <key>`: a flood of
made-up keys, each of which would be a new head, then costs little more than one key.
A head with a key in any other form or place is parsed every time, so no key is ever in
the cache.
"""

from typing import Generic, TypeVar

from readback.api.http.handler import Handler
from readback.api.http.head import Head, check_beginning, parse

Info = TypeVar("Info")

# Fields whose values are keys, passwords or the like, here or at other services.
CREDENTIAL_FIELDS = frozenset(
    b"authorization proxy-authorization cookie api-key x-api-key x-goog-api-key "
    b"x-auth-token".split()
)
_MAX_HEADS = 512
# Larger heads are parsed every time, which bounds the memory: 512 heads of 2 KiB.
_MAX_CACHED_BYTES = 2048
# What precedes the key in its line, without the first letter, which may be A or a.
_KEY_MARK = b"uthorization: Bearer "
_LINE_BEGINS = (b"\r\nA", b"\r\na")
# A key made of these characters can be cut out without changing what the parser sees.
_PLAIN_KEY = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"


class HeadCache(Generic[Info]):
    """The distinct heads of one listener, each with what its handler made of it."""

    def __init__(self, handler: Handler[Info], max_fields: int) -> None:
        self._handler = handler
        self._max_fields = max_fields
        # By the bytes before the mark and the bytes after the line of the key.
        self._known: dict[tuple[bytes, bytes], tuple[Head, Info]] = {}

    def read(self, data: bytes) -> tuple[Head, Info, bytes]:
        """Return a head, what the handler made of it, and the key; or raise `Refused`.

        A key in any unusual form stays in the head, and the key returned is empty.
        """
        before, mark, rest = data.partition(_KEY_MARK)
        key, _, after = rest.partition(b"\r\n")
        known = self._known.get((before, after))
        plain = not key.translate(None, _PLAIN_KEY)
        if known is not None and plain:
            return known[0], known[1], key
        check_beginning(data)
        if mark and not (plain and before.endswith(_LINE_BEGINS)):
            head = parse(data, self._max_fields)
            return head, self._handler.describe(head), b""
        without_key = before + mark + b"\r\n" + after if mark else data
        head = parse(without_key, self._max_fields)
        info = self._handler.describe(head)
        if self._may_keep(without_key, head, [b"Bearer"] if mark else []):
            if len(self._known) >= _MAX_HEADS:
                self._known.clear()
            self._known[before, after] = head, info
        return head, info, key

    def _may_keep(self, data: bytes, head: Head, without_secrets: list[bytes]) -> bool:
        """Return whether a head is small and contains no key, password or the like.

        The values of URL parameters may be anything; we serve no such URL.
        """
        credentials = [v for name, v in head.fields if name in CREDENTIAL_FIELDS]
        return (
            len(data) <= _MAX_CACHED_BYTES
            and credentials == without_secrets
            and b"?" not in head.target
            and not self._handler.contains_secret(data)
        )
