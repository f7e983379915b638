"""Recognise heads by their bytes, instead of parsing them again.

Clients send few distinct heads, and equal bytes mean the same on any connection. But
each client has a key, a proxy adds the address of each client, tracing adds a line that
differs from request to request, and so does the length of the body. So a head is of a
known kind if all its bytes are known, but for these values:

    the key, `Authorization: Bearer <key>`        is given to the handler
    the address, `X-Forwarded-For: <addresses>`   is given to the handler
    the length, `Content-Length: <digits>`        is given to the connection
    a field that nobody reads                     must be valid in itself

The first head of a kind is parsed as a whole. The others differ from it in nothing that
makes a difference; one pattern recognises them, and takes the values out of them. A
head with a key in another form or place is parsed every time, so no key is ever kept
here.

Kinds are kept in two places: those that were sent with an accepted key, and a few of
all others. Nobody without an accepted key can push out a kind that accepted keys need.
"""

import re
from typing import Any, Generic, NamedTuple, TypeVar

from readback.http.handler import Handler, Responder
from readback.http.head import Head, check_beginning, parse

Info = TypeVar("Info")

# Fields whose values are keys, passwords or the like, here or at other services.
CREDENTIAL_FIELDS = frozenset(
    b"authorization proxy-authorization cookie api-key x-api-key x-goog-api-key "
    b"x-auth-token".split()
)
_FORWARDED = b"x-forwarded-for"
_LENGTH = b"content-length"
# Fields that are read whatever the handler is: those above, those of the framing and of
# the connection, and the one that kinds are found by.
_READ_FIELDS = CREDENTIAL_FIELDS.union(
    b"host connection proxy-connection keep-alive te trailer transfer-encoding upgrade "
    b"expect user-agent".split(),
    [_FORWARDED, _LENGTH],
)
# All kinds together fill at most 8 MiB.
_MAX_ACCEPTED = 256
_MAX_OTHERS = 64
# Making a pattern takes 1 ms per kilobyte of a head, and it has 16 bytes per byte.
_MAX_HEAD_BYTES = 1024
_MAX_LINES = 40
# Kinds of one program, which are tried one after the other.
_MAX_ALIKE = 16
# So far a program is looked for: many messages at once must not be searched many times.
_MAX_SEARCHED = 4096
_LINE_END = b"\r\n"
# How a line begins whose value is cut out, and what such a value is made of: nothing
# that the parser would refuse, or see otherwise than we do. In the order of `Cuts`.
_CUT_OUT = (
    (
        (b"Authorization: Bearer ", b"authorization: Bearer "),
        re.compile(rb"[-_0-9A-Za-z]*"),
    ),
    (
        (b"X-Forwarded-For: ", b"x-forwarded-for: "),
        re.compile(rb"[0-9A-Fa-f.:\[\], ]{0,256}"),
    ),
    ((b"Content-Length: ", b"content-length: "), re.compile(rb"[0-9]{1,10}")),
)
_PLAIN_VALUE = re.compile(rb"[\x20-\x7e]*")
_PROGRAM = re.compile(rb"\r\n[Uu]ser-[Aa]gent: ([^\r]*)")
# How the handler sees the field whose key is cut out.
_WITHOUT_KEY = (b"authorization", b"Bearer")
_ABSENT = -1
_NOTHING = re.compile(rb"(?!)")


# The last head of a connection before and after the digits of its length, how long it
# is, what answers it, and for which address.
LastHead = tuple[tuple[bytes, bytes], int, Responder, str]


class Cuts(NamedTuple):
    """The numbers of the lines whose values differ; `_ABSENT` if there is none."""

    key: int
    addresses: int
    length: int
    # Fields that nobody reads.
    unread: frozenset[int]


_NO_CUTS = Cuts(_ABSENT, _ABSENT, _ABSENT, frozenset())


class Kind(Generic[Info]):
    """Heads that differ in nothing that makes a difference."""

    # fmt: off
    __slots__ = (
        "_cuts", "addresses", "head", "info", "is_plain", "key", "length", "pattern",
        "skeleton",
    )
    # fmt: on

    def __init__(
        self,
        head: Head,
        info: Info,
        skeleton: tuple[bytes, ...] = (),
        cuts: Cuts = _NO_CUTS,
    ) -> None:
        # Without the values that differ, and what the handler has made of that.
        self.head, self.info, self.is_plain = head, info, head.plain
        # The lines without these values; empty if the kind may not be kept.
        self.skeleton = skeleton
        self._cuts = cuts
        # Matches a head, with or without a body; nothing until `make_pattern`. These
        # groups have the values; the last one is empty, for a value that heads of this
        # kind do not have.
        self.pattern = _NOTHING
        numbers = [*sorted(set(cuts[:3]) - {_ABSENT}), _ABSENT]
        self.key, self.addresses, self.length = (
            numbers.index(number) for number in cuts[:3]
        )

    def last_head(self, data: bytes, at: int, responder: Responder) -> LastHead | None:
        """Return a head of this kind for a connection to compare the next one with.

        None if heads of this kind have no length.
        """
        found = self.pattern.match(data, at)
        assert found is not None
        start, (begin, end) = found.end(), found.span(self.length + 1)
        if begin == end:
            return None
        around_length = data[at:begin], data[end:start]
        return around_length, start - at, responder, responder.address

    def make_pattern(self) -> None:
        """Make what recognises heads of this kind, when the second one is received.

        It takes long, and most kinds of strangers are never seen again.
        """
        *cuts, unread = self._cuts
        values = dict.fromkeys(unread, _PLAIN_VALUE.pattern)
        for number, (_, plain) in zip(cuts, _CUT_OUT, strict=True):
            values[number] = b"(%b)" % plain.pattern
        lines = [
            re.escape(line) + values.get(n, b"") for n, line in enumerate(self.skeleton)
        ]
        self.pattern = re.compile(_LINE_END.join(lines) + b"()")
        re.purge()  # `re` would keep it, too


_NO_KIND: Kind[Any] = Kind(Head(b"", b"", [], is_http_10=False), None)

# The kind of a head, its key and addresses, the length of its body, and where the body
# begins. A plain tuple is unpacked fastest.
Match = tuple[Kind[Info], bytes, bytes, int, int]


class _Kinds(Generic[Info]):
    """A limited number of kinds; the oldest makes room for a new one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.by_skeleton: dict[tuple[bytes, ...], Kind[Info]] = {}
        # By the User-Agent, which few kinds have in common; None if there is none.
        self._by_program: dict[bytes | None, list[Kind[Info]]] = {}
        # The one that was found last: many clients have the same program.
        self._last: Kind[Info] = _NO_KIND

    def find(self, data: bytes, at: int = 0) -> Match[Info] | None:
        """Return what a head says, with or without its body, if its kind is known."""
        kind = self._last
        found = kind.pattern.match(data, at)
        if found is None:
            program = _PROGRAM.search(data, at, at + _MAX_SEARCHED)
            for kind in self._by_program.get(program and program[1], ()):
                if (found := kind.pattern.match(data, at)) is not None:
                    self._last = kind
                    break
            else:
                return None
        values = found.groups()
        digits = values[kind.length]
        size = int(digits) if digits else kind.head.content_length
        return kind, values[kind.key], values[kind.addresses], size, found.end()

    def add(self, kind: Kind[Info]) -> None:
        if kind.skeleton in self.by_skeleton:
            return
        alike = self._by_program.get(_program(kind), [])
        if len(alike) >= _MAX_ALIKE:
            self._remove(alike[0])
        elif len(self.by_skeleton) >= self._most:
            self._remove(next(iter(self.by_skeleton.values())))
        self.by_skeleton[kind.skeleton] = kind
        self._by_program.setdefault(_program(kind), []).append(kind)

    def _remove(self, kind: Kind[Info]) -> None:
        del self.by_skeleton[kind.skeleton]
        alike = self._by_program[_program(kind)]
        alike.remove(kind)
        if not alike:
            del self._by_program[_program(kind)]
        if self._last is kind:
            self._last = _NO_KIND


def _program(kind: Kind[Any]) -> bytes | None:
    found = _PROGRAM.search(_LINE_END.join(kind.skeleton))
    return found and found[1]


class Heads(Generic[Info]):
    """The kinds of heads of one listener, each with what its handler made of it."""

    def __init__(self, handler: Handler[Info], max_fields: int) -> None:
        self._handler = handler
        self._max_fields = max_fields
        self._read_fields = _READ_FIELDS | handler.read_fields
        # The kinds of requests with an accepted key, and of others.
        self.accepted = _Kinds[Info](_MAX_ACCEPTED)
        self.others = _Kinds[Info](_MAX_OTHERS)

    def read(self, data: bytes) -> Match[Info]:
        """Return what a head says; raise `Refused` if it is not valid.

        The key is empty if it is not there or has an unusual form, in which it stays in
        the head.
        """
        known = self.accepted.find(data) or self.others.find(data)
        return known or self._parse(data)

    def note_accepted(self, kind: Kind[Info]) -> None:
        """Keep the kind of a head that was sent with an accepted key."""
        if kind.skeleton:
            self.accepted.add(kind)

    def _parse(self, data: bytes) -> Match[Info]:
        check_beginning(data)
        head = parse(data, self._max_fields)
        lines = data.split(_LINE_END)
        unread = (n for n, line in enumerate(lines) if n and self._is_unread(line))
        key, addresses, length = (_find_line(lines, *each) for each in _CUT_OUT)
        cuts = Cuts(key, addresses, length, frozenset(unread))
        has_key, has_addresses = key != _ABSENT, addresses != _ABSENT
        credentials = sum(name in CREDENTIAL_FIELDS for name, _ in head.fields)
        all_addresses = head.all(_FORWARDED)
        forwarded = b",".join(all_addresses)
        if credentials != has_key or len(all_addresses) != has_addresses:
            # More than can be cut out.
            unkept = Kind(head, self._handler.describe(head))
            return unkept, b"", forwarded, head.content_length, len(data)
        kind = self._kind(head, lines, cuts)
        if kind.skeleton:
            self.others.add(kind)
        value = lines[key].partition(b" Bearer ")[2] if has_key else b""
        return kind, value, forwarded, head.content_length, len(data)

    def _kind(self, head: Head, lines: list[bytes], cuts: Cuts) -> Kind[Info]:
        """Return the kind of a head; its skeleton is empty if it may not be kept."""
        skeleton = lines.copy()
        for number, (beginnings, _) in zip(cuts[:3], _CUT_OUT, strict=True):
            if number != _ABSENT:
                skeleton[number] = lines[number][: len(beginnings[0])]
        for number in cuts.unread:
            skeleton[number] = lines[number].partition(b":")[0] + b":"
        form = tuple(skeleton)
        known = self.accepted.by_skeleton.get(form) or self.others.by_skeleton.get(form)
        if known:
            if known.pattern is _NOTHING:
                known.make_pattern()
            return known
        seen = self._without_values(head, cuts)
        info = self._handler.describe(seen)
        others = [line for n, line in enumerate(skeleton) if n != cuts.key]
        # The values of URL parameters may be anything; we serve no such URL.
        if b"?" in seen.target or not self._may_keep(others):
            return Kind(seen, info)
        return Kind(seen, info, form, cuts)

    def _without_values(self, head: Head, cuts: Cuts) -> Head:
        """Return a head without the values that differ among heads of its kind."""
        fields = []
        for name, value in head.fields:
            if name == _WITHOUT_KEY[0] and cuts.key != _ABSENT:
                fields.append(_WITHOUT_KEY)
            elif name == _LENGTH and cuts.length != _ABSENT:
                continue
            elif name in self._read_fields and name != _FORWARDED:
                fields.append((name, value))
        return Head(head.method, head.target, fields, is_http_10=head.is_http_10)

    def _is_unread(self, line: bytes) -> bool:
        """Return whether a line is a field that nobody reads."""
        name, colon, value = line.partition(b":")
        unread = colon and name.lower() not in self._read_fields
        return bool(unread) and _PLAIN_VALUE.fullmatch(value) is not None

    def _may_keep(self, lines: list[bytes]) -> bool:
        """Return whether lines are short and contain no key, password or the like."""
        together = _LINE_END.join(lines)
        return (
            len(lines) <= _MAX_LINES
            and len(together) <= _MAX_HEAD_BYTES
            and b"Bearer " not in together
            and not self._handler.contains_secret(together)
        )


def _find_line(
    lines: list[bytes], beginnings: tuple[bytes, ...], plain: re.Pattern[bytes]
) -> int:
    """Return the number of the line that begins so and has a plain value."""
    for number, line in enumerate(lines):
        if line.startswith(beginnings) and plain.fullmatch(line, len(beginnings[0])):
            return number
    return _ABSENT
