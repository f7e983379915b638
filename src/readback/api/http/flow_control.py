"""One client's line: bytes out, time that passes, and an end that loses nothing.

The half of a connection that is not HTTP: a reader that is too slow, the deadline of
the phase it is in, and how to close though the client may still be sending. What is
read and what is answered is the protocol's, which stands on this.
"""

import asyncio
from math import inf
from typing import cast

from readback.api.http.registry import ConnectionRegistry

# After our last answer the client may still be sending. To close then would reset
# the connection and lose the answer, so we go on reading for a while (RFC 9112 §9.6).
LINGER_SECONDS = 2.0


class Line(asyncio.Protocol):
    """A connection without its meaning."""

    __slots__ = (
        "_deadline",
        "_drain_deadline",
        "_eof",
        "_reading",
        "_registry",
        "_transport",
        "_writable",
        "address",
        "opened_at",
    )

    def __init__(self, registry: ConnectionRegistry) -> None:
        self._registry = registry
        self._writable = self._reading = True
        self._eof = False
        self.address = ""
        self.opened_at = registry.now
        self._deadline = registry.now + registry.limits.head_seconds
        self._drain_deadline = inf

    # The event loop calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if isinstance(peer, tuple) else ""

    def pause_writing(self) -> None:
        """Stop reading, too: who does not take answers gets no more of them."""
        self._writable = False
        self._drain_deadline = self._within(self._registry.limits.drain_seconds)
        self._pace_reading()

    def resume_writing(self) -> None:
        self._writable = True
        if not self._transport.is_closing():  # else the deadline of the end stays
            self._drain_deadline = inf
            self._pace_reading()
            self._work()

    # The registry calls these.

    def check(self, now: float) -> None:
        if now >= self._drain_deadline:
            self.abort()
        elif self._transport.is_closing():
            return
        elif now >= self._deadline and self._writable:
            self._time_out()

    def abort(self) -> None:
        self._transport.abort()

    # The protocol says these.

    def _work(self) -> None:
        raise NotImplementedError

    def _time_out(self) -> None:
        raise NotImplementedError

    def _is_waiting(self) -> bool:
        """Tell whether nothing more is to be read for now."""
        raise NotImplementedError

    # The protocol calls these.

    def _pace_reading(self) -> None:
        reading = self._writable and not self._is_waiting()
        if reading == self._reading or self._transport.is_closing():
            return
        self._reading = reading
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _end(self, *, still_sending: bool) -> None:
        """End the line without losing the last answer; what still comes is nothing."""
        self._deadline = self._within(LINGER_SECONDS)
        if self._eof or self._transport.is_closing():
            self._close()
        elif self._transport.can_write_eof():
            self._transport.write_eof()
        elif not still_sending:
            # TLS has no half-close; a client that waits for the end must not wait.
            self._close()

    def _close(self) -> None:
        """Close once what is written has been read, or when that takes too long."""
        if not self._transport.is_closing():
            self._drain_deadline = self._within(self._registry.limits.drain_seconds)
            self._transport.close()

    def _within(self, seconds: float) -> float:
        return self._registry.now + seconds
