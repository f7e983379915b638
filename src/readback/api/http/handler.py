"""What a listener serves, as its connections see it: the two sides of the counter.

`protocol.py` calls these; the API, the ops listener and the tests' echo server are
handlers. Only the shapes live here, so that neither side imports the other's code.
"""

from collections.abc import Callable
from typing import Protocol

from readback.api.http.head import Head

# A whole message with a known head, and where in it the body begins, to its answer.
Repeat = Callable[[bytes, int], bytes | None]


class Exchange(Protocol):
    """A request whose head has been accepted."""

    max_body: int
    # How the body begins, if it must begin so again for `repeat`.
    opening: bytes

    def answer(self, body: bytes) -> bytes:
        """Answer the request."""

    def repeat(self, data: bytes, start: int) -> bytes | None:
        """Answer the same head again, if that needs no second look.

        The data is a whole message; `start` is behind the head and the opening.
        """

    def refuse(self, code: str, detail: str) -> bytes:
        """Refuse the request for the way its body came."""


class RepeatableRefusal:
    """A request that is refused for its head, and would be again."""

    __slots__ = ("answer", "repeat")
    opening = b""

    def __init__(self, answer: bytes, repeat: Repeat) -> None:
        self.answer = answer
        self.repeat = repeat


class RequestOrigin(Protocol):
    """The connection that a request came on, as far as a handler needs it."""

    address: str

    def resume(self, outcome: Exchange | RepeatableRefusal | bytes) -> None:
        """Go on with the request for which `begin` gave None."""


class Handler(Protocol):
    """What a listener serves. Answers are whole, without a Connection header."""

    def begin(
        self, head: Head, key: bytes, origin: RequestOrigin
    ) -> Exchange | RepeatableRefusal | bytes | None:
        """Look at a head: go on, answer at once, or (None) `resume` later.

        The key is what `heads.py` has cut out of the head.
        """

    def refuse(self, code: str, detail: str) -> bytes:
        """Refuse bytes that did not become a request."""
