"""Answer a repeated request by its bytes, without parsing it.

Clients repeat themselves: the same head, and often a body that begins the same way.
Recognising such a message by its bytes is safe only if all of these hold:

1. The same head has been parsed, validated and answered twice on this connection, and
   the responder said how to repeat the answer (`Repetition`).
2. The connection is exactly between two messages. It asks only then, so the bytes
   compared here are the beginning of a message, never the inside of a body.
3. The bytes begin with the same prefix: the whole head, and the part of the body that
   the answer depends on.
4. The length is the same, so the message is complete. Of several that arrive at once,
   the connection cuts off one.

A `Repeat` holds rules 3 and 4 and cannot change. Whether the key is still accepted is
decided again for every request, by the function that the answer has handed over.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

# Takes a whole message and where in it the prefix ends; returns the answer, or None if
# the message has to be parsed after all.
Respond = Callable[[bytes, int], bytes | None]

# How many repeated messages of a client that pipelines are answered in one turn: about
# as much work as one request that is parsed. Of long messages, fewer.
PER_TURN = 16
_TURN_BYTES = 8192


class Repetition(NamedTuple):
    """How to answer the same head again."""

    respond: Respond
    opening: bytes = b""  # how the body must begin, too


class RepeatableAnswer(NamedTuple):
    """An answer that does not depend on a body, and how to repeat it."""

    answer: bytes
    repetition: Repetition


class Repeat:
    """What a repeated message looks like, and what answers it."""

    # fmt: off
    __slots__ = (
        "_at_prefix", "_prefix", "_respond", "_start", "length", "per_turn",
        "responder",
    )
    # fmt: on

    def __init__(
        self, prefix: bytes, length: int, respond: Respond, responder: Any = None
    ) -> None:
        self._prefix = prefix
        self._start = len(prefix)
        # Where the prefix is; comparing a slice is cheaper than `startswith`.
        self._at_prefix = slice(len(prefix))
        self.length = length
        self.per_turn = min(PER_TURN, 1 + _TURN_BYTES // length)
        self._respond = respond
        # The responder of the first message, which also counts an error; None if there
        # was none. Not by its type, whose module needs this one.
        self.responder = responder

    def answer(self, data: bytes) -> bytes | None:
        """Return the answer if `data` is the same message again, else None."""
        if len(data) != self.length or data[self._at_prefix] != self._prefix:
            return None
        return self._respond(data, self._start)
