"""Find what answers a head that was received before, on whichever connection.

Behind a balancer, one connection carries the requests of many clients, each of which
repeats its own head. A head is known by its SHA-256, so that no key is kept. One that
is new, because its length or an id in it differs from request to request, is found by
its lines (`head_cache.py`).

What is kept stays right: a responder decides for each request whether its key is still
accepted. If it cannot answer, it is forgotten here, and the head is read again.
"""

from hashlib import sha256
from typing import Any

from readback.api.http.handler import Handler, RequestOrigin, Responder
from readback.api.http.head import Head
from readback.api.http.head_cache import HeadCache

# Beyond this many, all are forgotten.
MAX_KNOWN = 8192

# A head without its key, the size of its body, what answers it, and whose it must be:
# the address of the peer, or None if the head alone decides.
Known = tuple[Head, int, Responder, str | None]


class KnownHeads:
    """The heads of one listener that were answered without being parsed."""

    def __init__(self, handler: Handler[Any], heads: HeadCache[Any]) -> None:
        self._handler = handler
        self._heads = heads
        self._known: dict[bytes, Known] = {}

    def find(
        self, data: bytes, size: int, origin: RequestOrigin
    ) -> tuple[bytes, Head, Responder] | None:
        """Return the digest of a head, the head without its key, and what answers it.

        None if the message has to be parsed. `size` is that of the body as received.
        """
        digest = sha256(data).digest()
        known = self._known.get(digest)
        if known is None or (known[3] is not None and known[3] != origin.address):
            known = self._find_by_lines(digest, data, origin)
        if known is None or known[1] != size:
            return None
        return digest, known[0], known[2]

    def forget(self, digest: bytes) -> None:
        self._known.pop(digest, None)

    def _find_by_lines(
        self, digest: bytes, data: bytes, origin: RequestOrigin
    ) -> Known | None:
        found = self._heads.find(data)
        if found is None:
            return None
        head, info, key, forwarded, size = found
        answerable = self._handler.find(info, key, forwarded, origin)
        if answerable is None:
            return None
        responder, peer = answerable
        if not head.plain or size > responder.max_body:
            return None
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[digest] = known = head, size, responder, peer
        return known
