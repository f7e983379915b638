"""Share the event loop fairly between connections, and write at the client's pace."""

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from time import monotonic

# The maximum number of answers that are written together.
WRITTEN_TOGETHER = 32
# How long we read and drop what the client still sends after our last answer.
LINGER_SECONDS = 2.0
# How long the backlog may run before the event loop looks for new bytes. It accepts
# only a few connections in each iteration, so long rounds would delay new clients.
ROUND_SECONDS = 0.001

# Handles one message; if more have arrived, it adds itself to the backlog again.
Work = Callable[[], None]


class Backlog:
    """Connections that have received more than one message.

    A connection handles the first message of a packet at once. If there are more, it
    waits here before each of them, and is not read in the meantime. So a client that
    sends one request at a time never waits long, however many requests others pipeline.
    """

    def __init__(self) -> None:
        self._waiting: deque[Work] = deque()
        self._is_scheduled = False

    def add(self, work: Work) -> None:
        self._waiting.append(work)
        if not self._is_scheduled:
            self._schedule()

    def _work_for_a_while(self) -> None:
        end = monotonic() + ROUND_SECONDS
        try:
            while self._waiting:
                work = self._waiting.popleft()
                work()
                if monotonic() >= end:
                    break
        finally:
            # After an exception, which the event loop logs, the other connections
            # continue.
            self._is_scheduled = False
            if self._waiting:
                self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._work_for_a_while)


class PendingAnswers:
    """Collects the answers to requests that arrived together, to write them together.

    A write wakes the client's process, which is slow in a virtual machine; several
    writes in a row wake it only once. A connection has at most one answer here: before
    it handles the next message, it must know whether the client reads.
    """

    def __init__(self) -> None:
        self._answers: deque[tuple[asyncio.Transport, bytes]] = deque()

    def add(self, transport: asyncio.Transport, answer: bytes) -> None:
        """Write an answer once the event loop has read everything that has arrived."""
        answers = self._answers
        if not answers:
            asyncio.get_running_loop().call_soon(self.flush)
        answers.append((transport, answer))
        if len(answers) >= WRITTEN_TOGETHER:
            self.flush()

    def flush(self) -> None:
        answers = self._answers
        try:
            while answers:
                transport, answer = answers.popleft()
                if not transport.is_closing():
                    transport.write(answer)
        finally:
            if answers:
                asyncio.get_running_loop().call_soon(self.flush)


class FlowControl:
    """Keeps a connection at its client's pace."""

    def __init__(self, transport: asyncio.Transport, pending: PendingAnswers) -> None:
        self._transport = transport
        self._pending = pending
        # Whether the client reads what we write.
        self.writable = True
        # When to abort the connection because the client does not read.
        self.drain_deadline = inf

    def pause_writing(self, drain_deadline: float) -> None:
        self.writable = False
        self.drain_deadline = drain_deadline

    def resume_writing(self) -> None:
        self.writable = True
        if not self._transport.is_closing():  # otherwise `close` has set the deadline
            self.drain_deadline = inf

    def set_reading(self, reading: bool) -> None:
        """Read from the client, or stop reading so that TCP holds it back."""
        if self._transport.is_closing():
            return
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def close_for_writing(self) -> bool:
        """Close our sending side; return False if the transport cannot do that.

        If the client is still sending, closing both sides would reset the connection
        and discard our last answer, so we go on reading for a while (RFC 9112 §9.6).
        TLS connections cannot be half-closed.
        """
        self._pending.flush()
        if not self._transport.can_write_eof():
            return False
        self._transport.write_eof()
        return True

    def close(self, drain_deadline: float, linger_deadline: float) -> None:
        """Close once the client has read everything, or when its time is up."""
        self._pending.flush()
        if self._transport.is_closing():
            return
        # A TLS connection also waits for the client's close_notify.
        unsent = self._transport.get_write_buffer_size()
        self.drain_deadline = drain_deadline if unsent else linger_deadline
        self._transport.close()
