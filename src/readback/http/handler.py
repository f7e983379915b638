"""The interface between a listener's connections and what it serves.

The API, the cabinet, the ops listener and the tests' echo server are handlers.
"""

from typing import Protocol

from readback.http.head import Head
from readback.http.meaning import Info, Understood


class Responder(Protocol):
    """Answers one request that `begin` has accepted."""

    def answer(self, body: bytes) -> bytes | None:
        """Return the answer to a request whose body has been read.

        None means that `resume` will be called with it later.
        """

    def refuse(self, code: str, detail: str, size: int) -> bytes:
        """Return a refusal because of the body's declared size or its speed."""


# The body is read and given to a responder, or the request is answered at once.
Outcome = Responder | bytes


class RequestOrigin(Protocol):
    """The part of a connection that a handler needs."""

    @property
    def address(self) -> str:
        """The address at the other end; empty if it has none."""

    def resume(self, outcome: Outcome) -> None:
        """Continue with the request for which `begin` or `answer` returned None."""


class Handler(Protocol[Info]):
    """What a listener serves. Answers are complete except for the Connection header."""

    def describe(self, head: Head) -> Info:
        """Return what `begin` needs to know about a head.

        It must depend only on the head. If heads are recognised (`recognition.py`), it
        must not contain the key, the addresses or the length, and not depend on them.
        """

    def begin(self, request: Understood[Info], origin: RequestOrigin) -> Outcome | None:
        """Decide on a request; None means that `resume` will be called later."""

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        """Return a refusal of bytes that are not a valid request.

        The address is the connection's.
        """

    def fail(self, error: Exception, info: Info | None) -> bytes:
        """Log an unexpected exception, and return the answer.

        The info is None if the exception occurred before the head was parsed.
        """
