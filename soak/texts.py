"""Random texts: no two are equal, and together they contain all of Unicode."""

import random
from itertools import count

MAX_BYTES = 8192
CODE_POINTS = 0x110000 - 0x800
"""How many code points UTF-8 can encode: all of them except the surrogates."""

_SURROGATES = range(0xD800, 0xE000)
_LONGEST_RUN = 1500
_POOL_SIZE = 100_000
# Characters that JSON escapes, that terminals and logs interpret, or that some
# programs trim, normalize or take for the end of a text.
_DELICATE = (
    "".join(map(chr, [*range(0x20), 0x22, 0x2F, 0x5C, *range(0x7F, 0xA1)]))
    + "\u0301\u00ad\u200b\u200d\u200e\u202e\u2028\u2029\ufeff\ufffd\ufffe\uffff"
    + "e\u0301\u1e9e\u0130\U0001f468\u200d\U0001f469\u200d\U0001f467\U0010ffff"
    + "\\u0041\\n%s{}\r\n\r\n--';</script>"
)


class Texts:
    """Yields texts of up to 8192 bytes that all contain the marker and a number."""

    def __init__(self, marker: str, seed: int) -> None:
        self._marker = marker
        self._random = random.Random(seed)
        self._numbers = count(1)
        self._code_point = 0
        self.code_points = 0
        """How many code points of the walk through Unicode are in texts so far."""
        drawn = (self._random.randrange(0x110000) for _ in range(_POOL_SIZE))
        self._pool = "".join(chr(n) for n in drawn if n not in _SURROGATES)

    def next(self) -> str:
        kinds = (self._plain, self._run, self._mixture, self._delicate, self._longest)
        [kind] = self._random.choices(kinds, (40, 25, 15, 10, 10))
        return kind(f"{self._marker} {next(self._numbers):08} ")

    def too_long(self) -> str:
        """Return a text that is one byte too long to be accepted."""
        return self._longest(f"{self._marker} ") + "."

    def _plain(self, opening: str) -> str:
        # Always the same length, so that the server sees the same head again.
        return opening + "Radio check: how do you read me?"

    def _run(self, opening: str) -> str:
        """Continue the walk through all code points, in their order."""
        start = self._code_point
        end = min(start + self._random.randint(1, _LONGEST_RUN), 0x110000)
        found = [n for n in range(start, end) if n not in _SURROGATES]
        self._code_point = end % 0x110000
        self.code_points += len(found)
        return opening + "".join(map(chr, found))

    def _mixture(self, opening: str) -> str:
        start = self._random.randrange(len(self._pool) - _LONGEST_RUN)
        return opening + self._pool[start : start + self._random.randint(1, 1000)]

    def _delicate(self, opening: str) -> str:
        return opening + "".join(self._random.choices(_DELICATE, k=300))

    def _longest(self, opening: str) -> str:
        start = self._random.randrange(len(self._pool) - MAX_BYTES)
        text = opening + self._pool[start : start + MAX_BYTES]
        cut = text.encode()[:MAX_BYTES].decode(errors="ignore")
        return cut + "." * (MAX_BYTES - len(cut.encode()))
