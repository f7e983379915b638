"""Bytes to requests and answers to bytes: one HTTP/1.1 connection.

The connection finds the frames, keeps their order and their deadlines, and owes its
clients what RFC 9112 says a server owes them. What is served it does not know: it
asks a handler. Heads are understood in `head.py`; slow readers, deadlines and how a
connection ends are `line.py`'s.

Two ways lead through this file. The fast one is `data_received` alone: a client that
repeats its last head byte for byte, with its whole body in the same read, needs no
parser. Everything else goes through `_work`, one message at a time.
"""

import asyncio
import logging
import sys
import traceback
from math import inf

from readback.api.http.flow_control import Line
from readback.api.http.handler import Exchange, Handler, Repeat, RepeatableRefusal
from readback.api.http.head import (
    HEAD_END,
    Head,
    Malformed,
    Message,
    check_begun,
    open_chunked,
    too_large,
)
from readback.api.http.head_cache import read_head
from readback.api.http.registry import ConnectionRegistry
from readback.contract import MAX_BODY_BYTES, MAX_HEAD_BYTES

log = logging.getLogger("readback.api")

# An answer that comes before the body does not end the connection when the rest of
# that body is declared and no larger than this: it is read and dropped.
DISCARD_BYTES = MAX_BODY_BYTES
# When the service stops, a connection is not taken for idle before this age.
FRESH_SECONDS = 1.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


# Where a connection stands. Plain numbers: an Enum costs a microsecond a message.
HEAD = 0  # between messages, or inside a head
BODY = 1
SKIP = 2  # answered already; the rest of the declared body is dropped
WAITING = 3  # the handler will call `resume`
LINGER = 4  # the last answer is written; what still comes is dropped


class Connection(Line):
    """One client's connection."""

    __slots__ = (
        "_at",
        "_buffer",
        "_exchange",
        "_handler",
        "_head",
        "_head_bytes",
        "_head_seen",
        "_last",
        "_message",
        "_queued",
        "_repeat",
        "_repeat_body",
        "_repeat_head",
        "_repeat_length",
        "_skip",
        "_state",
    )

    def __init__(self, handler: Handler, registry: ConnectionRegistry) -> None:
        super().__init__(registry)
        self._handler = handler
        self._state = HEAD
        self._queued = False  # its turn will come
        self._buffer: bytes | bytearray = b""
        self._at = 0  # where in the buffer the unread bytes begin
        # The message in hand; None between messages.
        self._head: Head | None = None
        self._head_bytes = b""
        self._head_seen = 0  # bytes of an unfinished head that have been checked
        self._message: Message | None = None
        self._exchange: Exchange | None = None
        self._skip = 0
        # The last answered message that may come again with the same head. The
        # length of the whole is 0 unless the connection is exactly between messages.
        self._repeat: Repeat = _never
        self._repeat_head = b""
        self._repeat_body = 0
        self._repeat_length = 0
        self._last = False

    # The event loop calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self._registry.connect(self):
            refusal = self._handler.refuse(
                "unavailable", "There are too many connections."
            )
            self._send(refusal, last=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.disconnect(self)
        self._state = LINGER
        self._repeat_length = 0

    def data_received(self, data: bytes) -> None:
        # Only exactly between messages is the length not 0: so what is compared here
        # is the beginning of a message, never the inside of a body.
        if len(data) == self._repeat_length and data.startswith(self._repeat_head):
            try:
                answer = self._repeat(data, len(self._repeat_head))
            except Exception:
                return self._fault()
            if answer is not None:
                self._deadline = self._registry.idle_deadline
                return self._transport.write(answer)
        self._repeat_length = 0
        self._receive(data)

    def eof_received(self) -> bool:
        # A half-closed client still reads: what it has asked for completely is
        # answered first. A message cut off by the end is dropped (RFC 9112 §8).
        self._eof = True
        if self._is_waiting() or not self._writable:
            return self._transport.can_write_eof()
        self._close()
        return False

    # The handler calls this.

    def resume(self, outcome: Exchange | RepeatableRefusal | bytes) -> None:
        """Go on with the request for which `begin` gave None."""
        if self._state != WAITING or self._transport.is_closing():
            return
        self._work(outcome)
        self._pace_reading()

    # The registry calls these.

    def retire(self) -> None:
        self._last = True
        self._repeat_length = 0

    def close_if_idle(self) -> None:
        # Who has just connected is about to ask.
        fresh = self._registry.now < self.opened_at + FRESH_SECONDS
        if self._state == HEAD and not self._buffer and not fresh:
            self._close()

    # One message at a time.

    def _receive(self, data: bytes) -> None:
        if self._state == LINGER:
            return
        if not self._buffer:
            self._buffer = data
        else:
            if not isinstance(self._buffer, bytearray):
                self._buffer = bytearray(self._buffer)
            self._buffer += data
        if self._is_waiting():
            self._pace_reading()
        elif self._state == BODY or self._registry.turns.take(self._take_turn):
            self._work()
        else:
            self._queued = True

    def _take_turn(self) -> None:
        self._queued = False
        if not self._transport.is_closing():
            self._pace_reading()
            self._work()

    def _work(
        self, outcome: Exchange | RepeatableRefusal | bytes | None = None
    ) -> None:
        """Read and answer messages until bytes, room to write or a key is missing."""
        try:
            if outcome is not None:
                self._proceed(outcome)
            self._take_messages()
        except Malformed as error:
            self._send(self._refusal(error.code, error.detail), last=True)
        except Exception:
            self._fault()
        self._rest()

    def _take_messages(self) -> None:
        progress = True
        while progress and self._writable and self._at < len(self._buffer):
            if self._state == HEAD:
                progress = self._read_head()
            elif self._state == BODY:
                progress = self._read_body()
            elif self._state == SKIP:
                progress = self._skip_body()
            else:
                return

    def _rest(self) -> None:
        """Drop what has been read, and arm the fast way where it is safe."""
        if self._state == LINGER:
            self._at = len(self._buffer)
        if self._at:
            self._buffer, self._at = self._buffer[self._at :], 0
        between = self._state == HEAD and not self._buffer
        if between and self._repeat_head and not self._last:
            self._repeat_length = len(self._repeat_head) + self._repeat_body
        pending = self._state == WAITING or not self._writable
        if self._eof and not pending:
            self._close()

    def _read_head(self) -> bool:
        buffer, start = self._buffer, self._at
        while buffer.startswith(b"\r\n", start):  # RFC 9112 §2.2: empty lines before
            start, self._head_seen = start + 2, 0
        self._at = start
        end = buffer.find(HEAD_END, start) + len(HEAD_END)
        if len(HEAD_END) <= end <= start + MAX_HEAD_BYTES:
            self._at = end
            self._begin(bytes(buffer[start:end]))
            return True
        self._check_unfinished(bytes(buffer[start : start + MAX_HEAD_BYTES]))
        return False

    def _check_unfinished(self, window: bytes) -> None:
        """Refuse a head that cannot become one, long before its end has come."""
        if not window:
            return
        check_begun(window, self._head_seen)
        if len(self._buffer) - self._at > MAX_HEAD_BYTES:
            raise too_large(window)
        if not self._head_seen:
            self._deadline = self._within(self._registry.limits.head_seconds)
        self._head_seen = len(window)

    def _begin(self, data: bytes) -> None:
        head, key = read_head(data, self._head_seen)
        self._head, self._head_bytes = head, data
        self._message = open_chunked(data) if head.chunked else None
        outcome = self._handler.begin(head, key, self)
        if outcome is None:
            self._state = WAITING
            self._deadline = inf
        else:
            self._proceed(outcome)

    def _proceed(self, outcome: Exchange | RepeatableRefusal | bytes) -> None:
        head = self._head
        assert head is not None
        if isinstance(outcome, bytes):
            return self._answer_early(head, outcome)
        if isinstance(outcome, RepeatableRefusal):
            if head.repeatable:
                self._remember(head, outcome)
            return self._answer_early(head, outcome.answer)
        self._exchange = outcome
        if head.content_length > outcome.max_body:
            came = f"{head.content_length} bytes are declared"
            return self._answer_early(head, self._oversize(outcome, came))
        if not head.has_body:
            return self._answer(outcome, b"")
        self._state = BODY
        self._deadline = self._within(self._registry.limits.body_seconds)
        if head.expects_continue and self._at == len(self._buffer):
            self._transport.write(CONTINUE)

    def _read_body(self) -> bool:
        head, exchange = self._head, self._exchange
        assert head is not None and exchange is not None
        if self._message is not None:
            return self._read_chunks(self._message, exchange)
        end = self._at + head.content_length
        if len(self._buffer) < end:
            return False
        body = bytes(self._buffer[self._at : end])
        self._at = end
        self._answer(exchange, body)
        return True

    def _read_chunks(self, message: Message, exchange: Exchange) -> bool:
        self._at = message.feed_chunked(self._buffer, self._at, exchange.max_body)
        if len(message.body) > exchange.max_body:
            came = "the chunked body is longer"
            self._send(self._oversize(exchange, came), last=True)
        elif message.complete:
            self._answer(exchange, bytes(message.body))
        else:
            return False
        return True

    def _skip_body(self) -> bool:
        step = min(self._skip, len(self._buffer) - self._at)
        self._at += step
        self._skip -= step
        if not self._skip:
            self._state = HEAD
            self._deadline = self._registry.idle_deadline
        return True

    # Answers.

    def _answer(self, exchange: Exchange, body: bytes) -> None:
        answer = exchange.answer(body)
        head = self._head
        if head is not None and head.repeatable:
            self._remember(head, exchange)
        self._send(answer)

    def _remember(self, head: Head, outcome: Exchange | RepeatableRefusal) -> None:
        """Keep a message's head and outcome: the head may come again."""
        self._repeat = outcome.repeat
        self._repeat_head = self._head_bytes + outcome.opening
        self._repeat_body = head.content_length - len(outcome.opening)

    def _answer_early(self, head: Head, answer: bytes) -> None:
        """Answer before the body is read, and see that it never becomes a request."""
        if not head.has_body:
            return self._send(answer)
        bounded = not head.chunked and head.content_length <= DISCARD_BYTES
        if head.expects_continue or not bounded or not head.keep_alive:
            return self._send(answer, last=True)
        self._send(answer)
        if self._state == HEAD:
            self._state = SKIP
            self._skip = head.content_length
            self._deadline = self._within(self._registry.limits.body_seconds)

    def _send(self, answer: bytes, last: bool = False) -> None:
        """Write one answer, say whether the connection goes on, and see to that."""
        head, self._head, self._exchange = self._head, None, None
        self._state, self._head_seen = HEAD, 0
        self._deadline = self._registry.idle_deadline
        asked_to_close = head is not None and not head.keep_alive
        last = last or self._last or self._registry.stopping
        if last or asked_to_close:
            answer = _with_connection(answer, b"close")
        elif head is not None and head.is_http_10:
            answer = _with_connection(answer, b"keep-alive")
        if head is not None and head.method == b"HEAD":
            answer = answer[: answer.index(HEAD_END) + len(HEAD_END)]
        self._transport.write(answer)
        if last or asked_to_close:
            self._state, self._repeat_length = LINGER, 0
            self._end(still_sending=last or self._at < len(self._buffer))

    def _time_out(self) -> None:
        if self._queued:  # what is late then is we
            return
        idle = self._state == HEAD and not self._buffer
        if idle or self._state in (SKIP, LINGER):
            self._close()
        else:
            part = "body" if self._state == BODY else "head"
            refusal = self._refusal("request_timeout", f"The {part} came too slowly.")
            self._send(refusal, last=True)
            self._rest()

    def _fault(self) -> None:
        """Answer 500; say in the log where it happened, and nothing of what came."""
        kind, _, trace = sys.exc_info()
        log.error(
            "internal error: %s\n%s",
            kind.__name__ if kind else "unknown",
            "".join(traceback.format_tb(trace)),
        )
        if not self._transport.is_closing():
            refusal = self._handler.refuse("internal_error", "")
            self._send(refusal, last=True)

    def _refusal(self, code: str, detail: str) -> bytes:
        return (self._exchange or self._handler).refuse(code, detail)

    def _oversize(self, exchange: Exchange, came: str) -> bytes:
        detail = f"A body has at most {exchange.max_body} bytes, and {came}."
        return exchange.refuse("request_too_large", detail)

    def _is_waiting(self) -> bool:
        return self._queued or self._state == WAITING


def _never(data: bytes, start: int) -> None:
    """Stand for a repetition where nothing has been answered yet."""


def _with_connection(answer: bytes, value: bytes) -> bytes:
    status_line, rest = answer.split(b"\r\n", 1)
    return b"%b\r\nConnection: %b\r\n%b" % (status_line, value, rest)
