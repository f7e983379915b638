"""What a listener's connections ask of the code that serves them.

The API, the cabinet, the ops listener and the tests' echo server are handlers.
"""

from typing import Protocol

from readback.http.head import Head
from readback.http.meaning import Info, Understood


class Responder(Protocol):
    """Answers a request that `begin` has accepted."""

    def answer(self, body: bytes) -> bytes | None:
        """Return the answer to a request, given its whole body.

        Return None to answer later, by calling `RequestOrigin.resume`.
        """

    def refuse(self, code: str, detail: str, size: int) -> bytes:
        """Return the refusal of a body that is malformed, too large or too slow."""


# Either a responder that gets the body, or the answer itself.
Outcome = Responder | bytes


class RequestOrigin(Protocol):
    """What a handler may ask of a request's connection."""

    @property
    def address(self) -> str:
        """The client's address; empty for a unix socket."""

    def resume(self, outcome: Outcome) -> None:
        """Continue a request for which `begin` or `answer` returned None."""


class Handler(Protocol[Info]):
    """What a listener serves. Its answers lack only the Connection header."""

    def describe(self, head: Head) -> Info:
        """Return what `begin` needs to know about a head.

        The result must depend on nothing but the head. If the listener recognizes heads
        (`recognition.py`), it must not depend on the key, the addresses or the length
        either.
        """

    def begin(self, request: Understood[Info], origin: RequestOrigin) -> Outcome | None:
        """Decide on a request; return None to decide later, with `origin.resume`."""

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        """Return the refusal for a client that has sent no valid request."""

    def fail(self, error: Exception, info: Info | None) -> bytes:
        """Log an unexpected exception and return the answer.

        `info` is None if the exception occurred before the head was parsed.
        """
