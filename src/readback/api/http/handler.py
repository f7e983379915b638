"""What a listener serves, as its connections see it.

A connection calls a handler; the API, the ops listener and the tests' echo server are
handlers. Only interfaces live here, so that neither side imports the other's code.
"""

from typing import Protocol, TypeVar

from readback.api.http.head import Head
from readback.api.http.repeat import RepeatableAnswer

Info = TypeVar("Info")


class Responder(Protocol):
    """Answers a request whose head has been accepted."""

    max_body: int

    def answer(self, body: bytes) -> RepeatableAnswer | bytes:
        """Return the answer to the request. Called once."""

    def refuse(self, code: str, detail: str) -> bytes:
        """Return a refusal because of the size or the speed of the body."""

    def fail(self, error: Exception, head: Head | None) -> bytes:
        """Log an unexpected exception, and return the answer for it."""


# What becomes of a request once its head is known: a body is read and answered, or the
# request is answered at once.
Outcome = Responder | RepeatableAnswer | bytes


class RequestOrigin(Protocol):
    """The connection of a request, as far as a handler needs it."""

    address: str

    def resume(self, outcome: Outcome) -> None:
        """Continue with the request for which `begin` returned None."""


class Handler(Protocol[Info]):
    """What a listener serves. Answers are complete but for the Connection header."""

    def describe(self, head: Head) -> Info:
        """Return what `begin` needs to know of a head.

        Called once for each distinct head; the cached result goes to `begin` each time
        that the head is received, so it must not depend on anything else. It must not
        contain a key.
        """

    def contains_secret(self, data: bytes) -> bool:
        """Return whether the bytes of a head, without its key, must not be kept."""

    def begin(self, info: Info, key: bytes, origin: RequestOrigin) -> Outcome | None:
        """Decide on a request; None means that `resume` will be called later.

        The key is what `HeadCache` has cut out of the head.
        """

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        """Return a refusal of bytes that did not become a request.

        The address is that of the connection.
        """

    def fail(self, error: Exception, head: Head | None) -> bytes:
        """Log an unexpected exception where no responder can, and return the answer.

        The head is None if the exception occurred before it was parsed.
        """
