"""What a listener serves, as its connections see it.

A connection calls a handler; the API, the ops listener and the tests' echo server are
handlers. Only interfaces live here, so that neither side imports the other's code.
"""

from typing import Protocol, TypeVar

from readback.http.head import Head

Info = TypeVar("Info")


class Responder(Protocol):
    """Answers a client whose kind of head and key are known."""

    # The client's, which may have changed since the responder was returned.
    address: str
    is_refusal: bool

    def answer_known(self, data: bytes, start: int, end: int) -> bytes | None:
        """Return the answer to a whole message whose body is `data[start:end]`.

        Or None, without having counted it, if `begin` has to decide.
        """

    def fail(self, error: Exception, size: int) -> bytes:
        """Log an unexpected exception, and return the answer for it."""


class Admitted(Responder, Protocol):
    """Answers a request that `begin` has let in."""

    def answer(self, body: bytes) -> bytes:
        """Return the answer to a request whose body has been read."""

    def refuse(self, code: str, detail: str, size: int) -> bytes:
        """Return a refusal because of the size or the speed of the body.

        The size is the declared one.
        """


# What becomes of a request once its head is known: a body is read and answered, or the
# request is answered at once.
Outcome = Admitted | bytes


class RequestOrigin(Protocol):
    """The connection of a request, as far as a handler needs it."""

    @property
    def address(self) -> str:
        """The address at the other end; empty if it has none."""

    def resume(self, outcome: Outcome) -> None:
        """Continue with the request for which `begin` returned None."""


class Handler(Protocol[Info]):
    """What a listener serves. Answers are complete but for the Connection header."""

    # The names of the fields that `describe` reads, in lower case. It gets no others,
    # but those of `heads.py`, and not the length of the body.
    read_fields: frozenset[bytes] = frozenset()

    def describe(self, head: Head) -> Info:
        """Return what `begin` needs to know of a head.

        Called once for each kind of heads; the result goes to `begin` each time that
        such a head is received, so it must not depend on anything else. It must not
        contain a key.
        """

    def contains_secret(self, data: bytes) -> bool:
        """Return whether the bytes of a head, without its key, must not be kept."""
        return False

    def find(
        self, info: Info, key: bytes, forwarded: bytes, origin: RequestOrigin
    ) -> Responder | None:
        """Return what answers a request without anything being looked up.

        If there is nothing, return None; then `begin` decides.
        """
        return None

    def begin(
        self,
        head: Head,
        info: Info,
        key: bytes,
        forwarded: bytes,
        size: int,
        origin: RequestOrigin,
    ) -> Outcome | None:
        """Decide on a request; None means that `resume` will be called later.

        The key is what `heads.py` has cut out, if any. `forwarded` has all addresses of
        X-Forwarded-For, and the size is that of the body, as declared.
        """

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        """Return a refusal of bytes that did not become a request.

        The address is that of the connection.
        """

    def fail(self, error: Exception, info: Info | None) -> bytes:
        """Log an unexpected exception where no responder can, and return the answer.

        The info is None if the exception occurred before the head was parsed.
        """
