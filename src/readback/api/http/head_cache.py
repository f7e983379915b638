"""Recognise heads by their lines, instead of parsing them again.

Clients send few distinct heads, and equal bytes mean the same on any connection. But a
proxy that serves many clients adds lines that differ from client to client, tracing
adds one that differs from request to request, and so does the length of the body. So a
head is of a known kind if its lines are known, but for these:

    the key, `Authorization: Bearer <key>`        the key is cut out
    the address, `X-Forwarded-For: <addresses>`   the addresses are cut out
    the length, `Content-Length: <digits>`        the number is cut out
    a field that nobody reads                     must be valid in itself

The first head of a kind is parsed as a whole, and again without these lines; the others
differ from it in nothing that makes a difference. A head with a key in another form or
place is parsed every time, so no key is ever in the cache.
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
_FORWARDED = b"x-forwarded-for"
# Fields that are read whatever the handler is: those above, and those of the framing
# and of the connection.
_READ_FIELDS = CREDENTIAL_FIELDS.union(
    b"host connection proxy-connection keep-alive te trailer transfer-encoding upgrade "
    b"content-length expect".split(),
    [_FORWARDED],
)
# Heads that are made to be different fill at most 6 MiB.
_MAX_LINES = 2048
_MAX_KINDS = 512
_MAX_LINE_BYTES = 512
_MAX_HEAD_LINES = 40
_MAX_HEAD_BYTES = 2048
_LINE_END = b"\r\n"
# How a line begins whose value is cut out, and what such a value is made of: nothing
# that the parser would refuse, or see otherwise than we do.
_KEY_LINES = (b"Authorization: Bearer ", b"authorization: Bearer ")
_PLAIN_KEY = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_ADDRESS_LINES = (b"X-Forwarded-For: ", b"x-forwarded-for: ")
_PLAIN_ADDRESSES = b"0123456789ABCDEFabcdef.:[], "
_LENGTH_LINES = (b"Content-Length: ", b"content-length: ")
_DIGITS = b"0123456789"
_PLAIN_VALUE = bytes(range(0x20, 0x7F))
# How the parser sees a line whose key is cut out.
_WITHOUT_KEY = b"Authorization: Bearer"
_MAX_DIGITS = 10


# A line that differs among the heads of one kind: its number, how it begins, and where
# its value begins. Plain tuples are unpacked fastest.
_Cut = tuple[int, bytes, int]
# Every head ends with an empty line.
_NOTHING: _Cut = (-1, b"", 0)


class HeadCache(Generic[Info]):
    """The kinds of heads of one listener, each with what its handler made of it."""

    def __init__(self, handler: Handler[Info], max_fields: int) -> None:
        self._handler = handler
        self._max_fields = max_fields
        self._read_fields = _READ_FIELDS | handler.read_fields
        self._lines: dict[bytes, bytes] = {}
        # By the lines of a head, with None for those that are not known: the meaning,
        # and the cuts for key, addresses, length, and fields that nobody reads.
        self._kinds: dict[
            tuple[bytes | None, ...],
            tuple[Head, Info, _Cut, _Cut, _Cut, list[_Cut]],
        ] = {}

    def read(self, data: bytes) -> tuple[Head, Info, bytes, bytes]:
        """Return a head, what the handler made of it, and what was cut out of it.

        That is the key, and the addresses in X-Forwarded-For. They are empty if they
        are not there or have an unusual form, in which they stay in the head. Raise
        `Refused` if the head is not valid.
        """
        known = self.find(data)
        if known is None or known[2].translate(None, _PLAIN_KEY):
            return self._learn(data)
        head, info, key, addresses, length = known
        return head.with_length(length), info, key, addresses

    def find(self, data: bytes) -> tuple[Head, Info, bytes, bytes, int] | None:
        """Return the same and the length of the body, or None if the kind is new.

        The head is that of the whole kind, without a length. The key may be anything:
        only one that exists is sure to be plain.
        """
        lines = data.split(_LINE_END)
        kind = self._kinds.get(tuple(map(self._lines.get, lines)))
        if kind is None:
            return None
        head, info, cut, address_cut, length_cut, unread = kind
        number, beginning, start = cut
        line = lines[number]
        key = line[start:]
        if line[:start] != beginning:
            return None
        number, beginning, start = address_cut
        line = lines[number]
        addresses = line[start:]
        if line[:start] != beginning or addresses.translate(None, _PLAIN_ADDRESSES):
            return None
        for number, beginning, start in unread:
            line = lines[number]
            if line[:start] != beginning or line[start:].translate(None, _PLAIN_VALUE):
                return None
        if length_cut is _NOTHING:
            return head, info, key, addresses, head.content_length
        number, beginning, start = length_cut
        line = lines[number]
        digits = line[start:]
        if line[:start] != beginning or not digits.isdigit():
            return None
        if len(digits) > _MAX_DIGITS:
            return None
        return head, info, key, addresses, int(digits)

    def _learn(self, data: bytes) -> tuple[Head, Info, bytes, bytes]:
        """Read a head of a new kind, and keep the kind if it may be kept."""
        check_beginning(data)
        head = parse(data, self._max_fields)
        lines = data.split(_LINE_END)
        key = _find_cut(lines, _KEY_LINES, _PLAIN_KEY)
        addresses = _find_cut(lines, _ADDRESS_LINES, _PLAIN_ADDRESSES)
        credentials = sum(name in CREDENTIAL_FIELDS for name, _ in head.fields)
        if credentials != (key is not _NOTHING) or (
            len(head.all(_FORWARDED)) != (addresses is not _NOTHING)
        ):  # more than can be cut out
            return head, self._handler.describe(head), b"", b""
        length = _find_cut(lines, _LENGTH_LINES, _DIGITS)
        unread = [n for n, line in enumerate(lines) if n and self._is_unread(line)]
        read = dict(enumerate(lines))
        for number in (addresses[0], length[0], *unread):
            read.pop(number, None)
        if key is not _NOTHING:
            read[key[0]] = _WITHOUT_KEY
        kind = parse(_LINE_END.join(read.values()), self._max_fields)
        info = self._handler.describe(kind)
        # The values of URL parameters may be anything; we serve no such URL.
        if b"?" not in kind.target and self._may_keep(*read.values()):
            read.pop(key[0], None)
            cuts = self._add_lines(lines, [*read.values()], unread)
            known = tuple(map(self._lines.get, lines))
            self._kinds[known] = kind, info, key, addresses, length, cuts
        kind = kind.with_length(head.content_length)
        return kind, info, _value(lines, key), _value(lines, addresses)

    def _is_unread(self, line: bytes) -> bool:
        """Return whether a line is a field that nobody reads."""
        name, colon, value = line.partition(b":")
        unread = colon and name.lower() not in self._read_fields
        return bool(unread) and not value.translate(None, _PLAIN_VALUE)

    def _may_keep(self, *lines: bytes) -> bool:
        """Return whether lines are short and contain no key, password or the like."""
        together = _LINE_END.join(lines)
        return (
            len(lines) <= _MAX_HEAD_LINES
            and len(together) <= _MAX_HEAD_BYTES
            and max(map(len, lines)) <= _MAX_LINE_BYTES
            and b"Bearer " not in together
            and not self._handler.contains_secret(together)
        )

    def _add_lines(
        self, lines: list[bytes], read: list[bytes], unread: list[int]
    ) -> list[_Cut]:
        """Make known what is read of a head; return the cuts for what is not.

        With lines that are new, the unread ones are made known, too: most of them are
        the same in all requests of a client. Those that are not are cut from the second
        request on.
        """
        if len(self._kinds) >= _MAX_KINDS or len(self._lines) >= _MAX_LINES:
            self._kinds.clear()
            self._lines.clear()
        if not self._lines.keys() >= set(read):
            read = read + [
                lines[number] for number in unread if self._may_keep(lines[number])
            ]
            self._lines.update(zip(read, read, strict=True))
        cuts = []
        for number in unread:
            if lines[number] not in self._lines:
                name = lines[number].partition(b":")[0] + b":"
                cuts.append((number, name, len(name)))
        return cuts


def _find_cut(lines: list[bytes], beginnings: tuple[bytes, ...], plain: bytes) -> _Cut:
    for number, line in enumerate(lines):
        for beginning in beginnings:
            start = len(beginning)
            if line.startswith(beginning) and not line[start:].translate(None, plain):
                return number, beginning, start
    return _NOTHING


def _value(lines: list[bytes], cut: _Cut) -> bytes:
    number, _, start = cut
    return lines[number][start:]
