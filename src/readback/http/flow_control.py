"""When a connection works and writes: by turns, together, at its client's pace."""

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from time import monotonic

# The maximum number of answers that are written together.
WRITTEN_TOGETHER = 32
# How long to read and drop what a client still sends after our last answer.
LINGER_SECONDS = 2.0
# How long a pass may take before the event loop looks for new bytes. It accepts only
# one new connection between passes, so a longer pass would make many of them wait.
ROUND_SECONDS = 0.001

# Works on one message, and adds itself again if there are more.
Work = Callable[[], None]


class Backlog:
    """Connections whose next messages have already arrived take turns here.

    A connection answers the first message of what it receives at once. If a client has
    sent several, its connection waits here before each of the others, and is not read
    meanwhile. So a client that sends one request at a time waits for at most one pass,
    however many requests others send at once.
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
            # The others stay here if the work raises an exception, which the event loop
            # logs.
            self._is_scheduled = False
            if self._waiting:
                self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._work_for_a_while)


class PendingAnswers:
    """The answers to requests that arrived together; they are written together.

    A write wakes up the waiting program, which is slow in a virtual machine; writes in
    a row wake it up once. A connection has at most one answer here, because it must
    know before the next one whether the client reads.
    """

    def __init__(self) -> None:
        self._answers: deque[tuple[asyncio.Transport, bytes]] = deque()

    def add(self, transport: asyncio.Transport, answer: bytes) -> None:
        """Write an answer when the event loop has read everything that has arrived."""
        answers = self._answers
        if not answers:
            asyncio.get_running_loop().call_soon(self.flush)
        answers.append((transport, answer))
        if len(answers) >= WRITTEN_TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write all answers now."""
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
    """Keeps one transport at the pace of its client."""

    __slots__ = ("_pending", "_transport", "drain_deadline", "writable")

    def __init__(self, transport: asyncio.Transport, pending: PendingAnswers) -> None:
        self._transport = transport
        self._pending = pending
        # Whether the client reads what is written.
        self.writable = True
        # The deadline for the client to read them.
        self.drain_deadline = inf

    def pause_writing(self, drain_deadline: float) -> None:
        self.writable = False
        self.drain_deadline = drain_deadline

    def resume_writing(self) -> None:
        self.writable = True
        if not self._transport.is_closing():  # else `close` keeps its deadline
            self.drain_deadline = inf

    def set_reading(self, reading: bool) -> None:
        """Read from the client, or pause, so that TCP makes the client wait."""
        if self._transport.is_closing():
            return
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def write(self, data: bytes) -> None:
        """Write at once, after the answers that are waiting."""
        self._pending.flush()
        self._transport.write(data)

    def close_for_writing(self) -> bool:
        """Close our side only; return whether the transport can do that.

        If the client is still sending, closing both sides would reset the connection
        and discard our last answer, so we read on for a while (RFC 9112 §9.6). TLS
        cannot be half-closed.
        """
        self._pending.flush()
        if not self._transport.can_write_eof():
            return False
        self._transport.write_eof()
        return True

    def close(self, drain_deadline: float, linger_deadline: float) -> None:
        """Close once the client has read everything, or when it is too slow."""
        self._pending.flush()
        if self._transport.is_closing():
            return
        # With TLS, the client must still send its end.
        unsent = self._transport.get_write_buffer_size()
        self.drain_deadline = drain_deadline if unsent else linger_deadline
        self._transport.close()
