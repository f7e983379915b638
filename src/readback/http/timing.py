"""How long requests take, from their last byte to the write of the answer.

Linux knows when each connection last received bytes, including those that this process
was too busy to read. So nothing is recorded when a request arrives, and only a random
sample costs time. With unix sockets and on other systems, nothing is measured.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain, repeat
from random import random

# One request in this many is measured.
SAMPLED = 64
# `tcpi_last_data_recv` of <linux/tcp.h>, in milliseconds. Its resolution is the tick of
# the kernel, 1 to 10 ms.
_LAST_RECEIVED = struct.Struct("52xI")
_TCP_INFO = getattr(socket, "TCP_INFO", 0)


class Untimed(bytes):
    """An answer whose duration does not depend on the server."""


class Timing:
    """Measures a random sample of the requests of a listener; without `note`, none."""

    def __init__(self, note: Callable[[int], None] | None = None) -> None:
        self._note = note
        # Called for every request, so it is not a Python function.
        gaps = iter(_gap, None) if note else repeat(repeat(False))
        self.is_due = chain.from_iterable(gaps).__next__

    def measure(
        self, transport: asyncio.Transport, answer: bytes, write: Callable[[], None]
    ) -> None:
        """Note how many milliseconds a request took, once its answer is written."""
        if not isinstance(answer, Untimed):
            loop = asyncio.get_running_loop()
            loop.call_soon(self._measure_written, transport, write)

    def _measure_written(
        self, transport: asyncio.Transport, write: Callable[[], None]
    ) -> None:
        write()
        connection = transport.get_extra_info("socket")
        with suppress(OSError):  # not TCP, or not Linux, or aborted
            info = connection.getsockopt(
                socket.IPPROTO_TCP, _TCP_INFO, _LAST_RECEIVED.size
            )
            if self._note and len(info) == _LAST_RECEIVED.size:
                self._note(*_LAST_RECEIVED.unpack(info))


def _gap() -> Iterable[bool]:
    """Return a flag for each request up to the next sample; only the last is True."""
    return chain(repeat(False, int(random() * (2 * SAMPLED - 1))), (True,))
