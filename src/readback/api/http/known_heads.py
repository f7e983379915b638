"""Find what answers a head that was received before, on whichever connection.

Behind a balancer, one connection carries the requests of many clients, each of which
repeats its own head. A head is known by its BLAKE2b, so that no key is kept. One that
is new, because its length or an id in it differs from request to request, is found by
its lines (`head_cache.py`).

What is kept stays right: a responder decides for each request whether its key is still
accepted. If it cannot answer, it is forgotten here, and the head is read again.
"""

from hashlib import blake2b
from typing import Any

from readback.api.http.handler import Handler, RequestOrigin, Responder
from readback.api.http.head import Head
from readback.api.http.head_cache import HeadCache

# Beyond this many, all are forgotten.
MAX_KNOWN = 8192

# The digest of a head, the head without its key, what answers it, the size of its body,
# and whose it must be: the address of the peer, or None if the head alone decides.
Known = tuple[bytes, Head, Responder, int, str | None]


class KnownHeads:
    """The heads of one listener that were answered without being parsed."""

    def __init__(self, handler: Handler[Any], heads: HeadCache[Any]) -> None:
        self._handler = handler
        self._heads = heads
        self._known: dict[bytes, Known] = {}

    def find(self, data: bytes, size: int, origin: RequestOrigin) -> Known | None:
        """Return what is known of a head, or None if the message has to be parsed.

        `size` is that of the body as received.
        """
        digest = blake2b(data).digest()
        known = self._known.get(digest)
        if known is None or (known[4] is not None and known[4] != origin.address):
            known = self._find_by_lines(digest, data, origin)
        if known is None or known[3] != size:
            return None
        return known

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
        self._known[digest] = known = digest, head, responder, size, peer
        return known
