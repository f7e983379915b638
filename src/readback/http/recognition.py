"""Recognize heads by their bytes instead of parsing each of them.

This is only an accelerator: `RecognisedHeads.understand` returns exactly what
`Heads.understand` would return, in a fifth of the time.

A pattern recognizes the heads of one program. It repeats a head that was parsed, except
for the values that vary: the key, the addresses and the length, which are its groups,
and the values of fields that nothing reads. All its quantifiers are possessive, so no
byte is looked at twice.

Patterns are only made from heads whose key was accepted, so requests without such a key
neither create nor evict any. No pattern contains a key.
"""

import re
from collections.abc import Callable

from readback.http.head import HEAD_END, Head
from readback.http.meaning import FORWARDED, Heads, Info, Meaning, Understood

MAX_PATTERNS = 64
# Per User-Agent; a program sends one kind of head for models and one for chats.
_MAX_PER_PROGRAM = 2
# Making a pattern takes one to three milliseconds.
_MADE_PER_TICK = 4
# How much of a head a pattern may repeat. All patterns together take less than 2 MiB.
_MAX_LINES = 40
_MAX_BYTES = 1024
_LINE_END = b"\r\n"
_PROGRAM = re.compile(rb"\r\n[Uu]ser-[Aa]gent: ([^\r]*+)")
# The fields that `Heads` and the parser read, apart from those in `_GROUPS`.
_READ_FIELDS = frozenset(
    b"connection expect host proxy-connection "
    b"transfer-encoding upgrade user-agent".split()
)
# For each field whose value varies: how its line begins, the name of its group, and the
# values that match. The parser reads every matching value in the same way.
_GROUPS = {
    b"authorization": (
        rb"[^:]++:[ \t]*+(?i:bearer) ++",
        b"key",
        rb"[-_0-9A-Za-z]++",
    ),
    FORWARDED: (
        rb"[^:]++:[ \t]*+",
        b"addresses",
        rb"(?! )[0-9A-Fa-f.:\[\], ]{1,256}+(?<! )",
    ),
    b"content-length": (rb"[^:]++:[ \t]*+", b"length", rb"[0-9]{1,10}+"),
}
_GROUP_LINES = {
    field: re.compile(b"(%b)%b" % (beginning, values))
    for field, (beginning, _, values) in _GROUPS.items()
}
_GROUP_NAMES = ("key", "addresses", "length")
# Any value of a field that nothing reads.
_ANY_VALUE = rb"[\t\x20-\x7e]*+"
# A pattern's `fullmatch`, the numbers of its groups, and the meaning of its heads.
_Pattern = tuple[
    Callable[[bytes], re.Match[bytes] | None], tuple[int, ...], Meaning[Info]
]


class RecognisedHeads(Heads[Info]):
    """Understands heads, and recognizes those from known programs."""

    def __init__(
        self,
        describe: Callable[[Head], Info],
        max_fields: int,
        read_fields: frozenset[bytes],
        contains_secret: Callable[[bytes], bool],
    ) -> None:
        """With a key in the usual form, `describe` must read only `read_fields`."""
        super().__init__(describe, max_fields)
        self._read_fields = _READ_FIELDS | read_fields
        self._contains_secret = contains_secret
        # Keyed by User-Agent, or None if there is none. Few programs share one.
        self._patterns: dict[bytes | None, list[_Pattern[Info]]] = {}
        self._left = _MADE_PER_TICK

    def understand(self, data: bytes) -> Understood[Info]:
        program = _PROGRAM.search(data)
        for fullmatch, groups, meaning in self._patterns.get(
            program and program[1], ()
        ):
            if found := fullmatch(data):
                key, addresses, length = found.group(*groups)
                return meaning, key, addresses, int(length or b"0")
        return super().understand(data)

    def note_accepted(self, data: bytes, meaning: Meaning[Info]) -> None:
        if not self._left:
            return
        self._left -= 1
        pattern = self._pattern_of(data)
        if pattern is None:
            return
        if sum(map(len, self._patterns.values())) == MAX_PATTERNS:
            self._patterns.clear()
        program = _PROGRAM.search(data)
        alike = self._patterns.setdefault(program and program[1], [])
        if len(alike) == _MAX_PER_PROGRAM:
            del alike[0]
        # Groups are found faster by number than by name.
        groups = tuple(pattern.groupindex[group] for group in _GROUP_NAMES)
        alike.append((pattern.fullmatch, groups, meaning))
        meaning.is_learned = True

    def tick(self) -> None:
        self._left = _MADE_PER_TICK

    def _pattern_of(self, data: bytes) -> re.Pattern[bytes] | None:
        """Return a pattern for heads like this one, or None if none may be kept."""
        request_line, *lines = data.removesuffix(HEAD_END).split(_LINE_END)
        kept = [request_line]
        parts = [re.escape(request_line)]
        absent = dict(_GROUPS)
        for line in lines:
            field, _, _ = line.partition(b":")
            name = field.lower()
            if name in _GROUPS:
                found = _GROUP_LINES[name].fullmatch(line)
                # The value has an unusual form, or the field is repeated.
                if found is None or name not in absent:
                    return None
                _, group, values = absent.pop(name)
                kept.append(found[1])
                parts.append(b"%b(?P<%b>%b)" % (re.escape(found[1]), group, values))
            elif name in self._read_fields:
                kept.append(line)
                parts.append(re.escape(line))
            else:
                kept.append(field)
                parts.append(b"%b:%b" % (re.escape(field), _ANY_VALUE))
        repeated = _LINE_END.join(kept)
        if len(kept) > _MAX_LINES or len(repeated) > _MAX_BYTES:
            return None
        if self._contains_secret(repeated):
            return None
        missing = b"".join(b"(?P<%b>)" % group for _, group, _ in absent.values())
        pattern = re.compile(_LINE_END.join(parts) + missing + re.escape(HEAD_END))
        re.purge()  # otherwise `re` would keep the pattern in its cache
        return pattern
