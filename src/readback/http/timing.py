"""Measure how long requests take, from their last byte until the answer is written.

Linux knows when a connection last received bytes, even if this process was too busy to
read them. So nothing is recorded when a request arrives, and only one request in 61
costs time. Nothing is measured with unix sockets or on other systems.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle

# One request in this many is measured. A prime number, so that no kind of request in a
# repeated series is left out.
SAMPLED = 61
# `tcpi_last_data_recv` from <linux/tcp.h>, in milliseconds. It is as precise as the
# kernel's tick, which is 1 to 10 ms.
_LAST_RECEIVED = struct.Struct("52xI")
_TCP_INFO = getattr(socket, "TCP_INFO", 0)


class Untimed(bytes):
    """An answer that may have been delayed on purpose, and so is not measured."""


class Timing:
    """Passes the times of a sample of requests to `note`, if there is one."""

    def __init__(self, note: Callable[[int], None] | None = None) -> None:
        self._note = note
        # An iterator instead of a Python function, because every request calls it.
        flags = [False] * (SAMPLED - 1) + [note is not None]
        self.is_due = cycle(flags).__next__

    def measure(
        self, transport: asyncio.Transport, answer: bytes, write: Callable[[], None]
    ) -> None:
        """Once the answer is written, note how many milliseconds the request took."""
        if not isinstance(answer, Untimed):
            loop = asyncio.get_running_loop()
            loop.call_soon(self._measure_written, transport, write)

    def _measure_written(
        self, transport: asyncio.Transport, write: Callable[[], None]
    ) -> None:
        write()
        connection = transport.get_extra_info("socket")
        with suppress(OSError):  # not TCP, not Linux, or already closed
            info = connection.getsockopt(
                socket.IPPROTO_TCP, _TCP_INFO, _LAST_RECEIVED.size
            )
            if self._note and len(info) == _LAST_RECEIVED.size:
                self._note(*_LAST_RECEIVED.unpack(info))
