"""One HTTP/1.1 connection: turns bytes into requests, and answers into bytes.

Every request takes the same steps: find the head, understand it, let the handler
decide, read the body, write the answer. A connection handles one message at a time,
enforces its deadlines, and does what RFC 9112 requires of a server. `states.py` lists
its states.
"""

import asyncio
from math import inf
from typing import Any, cast

from readback.http.chunked_body import ChunkedBody, oversized
from readback.http.flow_control import FlowControl
from readback.http.handler import Outcome, Responder
from readback.http.head import REQUEST_TIMEOUT, UNAVAILABLE, Refused
from readback.http.meaning import Meaning, complete
from readback.http.receive_buffer import ReceiveBuffer
from readback.http.registry import ConnectionRegistry
from readback.http.states import (
    ANSWERING,
    BODY,
    DECIDING,
    HEAD,
    LINGER,
    PAUSED,
    QUEUED,
    SKIP,
)

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection(asyncio.Protocol):
    def __init__(self, registry: ConnectionRegistry) -> None:
        self._registry = registry
        self._address: str | None = None
        self.opened_at = registry.now
        self.waiting_since = registry.now
        self._state = HEAD
        self._deadline = registry.head_deadline
        self._buffer = ReceiveBuffer()
        # What the head means, and how many bytes of the body have not been read yet.
        self._meaning: Meaning[Any] | None = None
        self._size = 0
        self._chunks: ChunkedBody | None = None
        self._responder: Responder | None = None
        self._received_eof = False

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._flow = FlowControl(self._transport, self._registry.pending)
        if not self._registry.connect(self):
            self._refuse(UNAVAILABLE, "There are too many open connections.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.disconnect(self)
        self._state = LINGER
        # Free the memory now instead of at the next garbage collection.
        self._buffer.clear()
        self._chunks = None

    def data_received(self, data: bytes) -> None:
        if self._state == LINGER:
            return
        self._buffer.append(data)
        if self._state in PAUSED:
            self._pace_reading()
        else:
            self._work()

    def eof_received(self) -> bool:
        # RFC 9112 §9.6: a client may close its sending side and still read. Complete
        # requests are answered first; an incomplete one is dropped (§8).
        self._received_eof = True
        self._registry.pending.flush()
        if self._state in PAUSED or not self._flow.writable:
            return self._transport.can_write_eof()
        self._close()
        return False

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read our answers."""
        self._flow.pause_writing(self._registry.drain_deadline)
        self._pace_reading()

    def resume_writing(self) -> None:
        self._flow.resume_writing()
        if not self._transport.is_closing():
            self._pace_reading()
            if self._state not in PAUSED:
                self._work()

    # Called by the handler.

    @property
    def address(self) -> str:
        """The client's address, looked up only when it is needed."""
        if self._address is None:
            peer = self._transport.get_extra_info("peername")
            self._address = peer[0] if isinstance(peer, tuple) else ""  # a unix socket
        return self._address

    def resume(self, outcome: Outcome) -> None:
        if self._state in (DECIDING, ANSWERING) and not self._transport.is_closing():
            self._work(outcome)
            self._pace_reading()

    # Called by the backlog.

    def go_on(self) -> None:
        """Handle the next message that has already arrived."""
        if self._state != QUEUED or self._transport.is_closing():
            return
        # If the client does not read our answers, the next message waits.
        self._registry.pending.flush()
        self._state = HEAD
        self._deadline = self._registry.idle_deadline
        self.waiting_since = self._registry.now
        self._work()
        self._pace_reading()

    # Called by the registry.

    def check(self, now: float) -> None:
        if now >= self._flow.drain_deadline:
            self.abort()
        elif now >= self._deadline and self._flow.writable:
            self._time_out()

    def end_if_idle(self, linger_seconds: float) -> None:
        # RFC 9112 §9.6: do not reset a request that is on its way.
        if self._is_idle() and not self._transport.is_closing():
            self._state = LINGER
            self._deadline = self._registry.now + linger_seconds
            if not self._flow.close_for_writing():
                self._close()

    def abort(self) -> None:
        self._transport.abort()

    # One message at a time.

    def _work(self, outcome: Outcome | None = None) -> None:
        """Handle the current message as far as possible.

        Stop when the message is done, or has to wait for more bytes, for room to write
        or for the handler's decision. `outcome` is a decision that the handler has made
        in the meantime. Further messages wait in the backlog.
        """
        try:
            if outcome is not None:
                self._go_on_with(outcome)
            elif self._buffer.unread and self._flow.writable:
                if self._state == HEAD:
                    self._read_head()
                elif self._state == BODY:
                    self._read_body()
                elif self._state == SKIP:
                    self._skip_body()
        except Refused as refused:
            self._refuse(refused.code, refused.detail)
        except Exception as error:
            self._fail(error)
        if self._state == LINGER:  # whatever arrives now is dropped
            self._buffer.clear()
            return
        self._buffer.drop_read()
        if self._state == QUEUED:
            self._registry.backlog.add(self.go_on)
        elif self._received_eof and self._flow.writable and self._state not in PAUSED:
            self._close()

    def _read_head(self) -> None:
        registry = self._registry
        begun = self._buffer.head_checked
        head = self._buffer.take_head(registry.max_head)
        if head is None:
            if not begun and self._buffer.head_checked:
                # The first byte of a head sets its deadline; empty lines do not.
                self._deadline = registry.head_deadline
            return
        request = registry.heads.understand(head)
        meaning, _, _, size = request
        self._meaning = meaning
        self._size = size
        outcome = registry.handler.begin(request, self)
        if outcome is None:
            self._wait(DECIDING)
        elif isinstance(outcome, bytes):
            self._answer_unread(outcome)
        else:
            if not meaning.is_learned:
                registry.heads.note_accepted(head, meaning)
            self._begin_body(outcome)

    def _go_on_with(self, outcome: Outcome) -> None:
        self.waiting_since = self._registry.now
        if not isinstance(outcome, bytes):
            self._begin_body(outcome)
        elif self._state == ANSWERING:
            self._send(outcome)
        else:
            self._answer_unread(outcome)

    def _answer_unread(self, answer: bytes) -> None:
        """Answer a request without reading its body, if it has one."""
        meaning = self._meaning
        size = self._size
        assert meaning is not None
        # RFC 9112 §6: Content-Length or Transfer-Encoding announces a body. §9.3:
        # either read all of it, or close the connection. It must never be parsed as a
        # request.
        last = (meaning.chunked or size > 0) and (
            size > self._registry.max_body or not meaning.may_skip_body()
        )
        if self._send(answer, last) and size:
            self._state = SKIP
            self._deadline = self._registry.body_deadline
            self.waiting_since = self._registry.now
            self._skip_body()

    def _begin_body(self, responder: Responder) -> None:
        """Answer if the body has arrived completely; otherwise wait for the rest."""
        self._responder = responder
        registry = self._registry
        meaning = self._meaning
        size = self._size
        assert meaning is not None
        if size > registry.max_body:
            raise oversized(registry.max_body, f"{size} are declared")
        if meaning.chunked:
            self._chunks = ChunkedBody(registry.max_head)
        if meaning.expects_continue:
            self._ask_for_body(meaning)
        if not self._read_body():
            self._state = BODY
            self._deadline = registry.body_deadline

    def _read_body(self) -> bool:
        """Answer if the body has arrived completely; return whether it has."""
        if self._chunks is None:
            body = self._buffer.take(self._size)
        else:
            body = self._buffer.take_chunks(self._chunks, self._registry.max_body)
        if body is None:
            self._hold_body()
            return False
        if self._registry.unfinished:
            self._registry.release_body(self)
        assert self._responder is not None
        answer = self._responder.answer(body)
        if answer is None:
            self._wait(ANSWERING)
        else:
            self._send(answer)
        return True

    def _ask_for_body(self, meaning: Meaning[Any]) -> None:
        """Send 100 (Continue) unless the body has begun (RFC 9110 §10.1.1)."""
        if (meaning.chunked or self._size) and not self._buffer.unread:
            self._registry.pending.flush()  # earlier answers come first
            self._transport.write(_CONTINUE)

    def _hold_body(self) -> None:
        """Count this unfinished body towards the limit for all unfinished bodies."""
        received = self._buffer.unread
        if self._chunks is not None:
            received += len(self._chunks.body)
        if received:
            self._registry.hold_body(self, received)

    def _skip_body(self) -> None:
        self._size -= self._buffer.skip(self._size)
        if not self._size:
            self._finish_message()

    # Answering.

    def _wait(self, state: int) -> None:
        """Wait for the handler or the backlog, with no deadline for the client."""
        self._state = state
        self._deadline = inf
        self.waiting_since = inf

    def _send(self, answer: bytes, last: bool = False) -> bool:
        """Write an answer; return whether the connection stays open afterwards."""
        meaning = self._meaning
        registry = self._registry
        if registry.is_timed() and not last:
            registry.timing.measure(self._transport, answer, registry.pending.flush)
        last = last or self.opened_at < registry.retire_before
        if meaning is not None and meaning.is_plain and not last:
            self._finish_message()
            registry.pending.add(self._transport, answer)
            return True
        if meaning is None:  # the head was refused
            bodiless = self._buffer.head_begins_with(b"HEAD ")
            closing = True
        else:
            bodiless = meaning.wants_no_body
            closing = last or not meaning.keep_alive
        self._finish_message()
        answer = complete(answer, meaning, closing=closing, bodiless=bodiless)
        registry.pending.add(self._transport, answer)
        if not closing:
            return True
        self._state = LINGER
        self._deadline = registry.linger_deadline
        self.waiting_since = registry.now
        # RFC 9112 §9.6: closing both sides at once would reset the connection while the
        # client is still sending. A client sends nothing more after the request that it
        # has announced as its last (§9.3).
        is_sending = last or self._buffer.unread > 0
        if self._received_eof or not is_sending:
            # Close once the pending answers, including this one, have been written.
            asyncio.get_running_loop().call_soon(self._close)
        else:
            self._flow.close_for_writing()
        return False

    def _finish_message(self) -> None:
        self._meaning = None
        self._responder = None
        self._chunks = None
        if self._buffer.unread:
            self._wait(QUEUED)
        else:
            self._state = HEAD
            self._deadline = self._registry.idle_deadline
            self.waiting_since = self._registry.now

    def _refuse(self, code: str, detail: str) -> None:
        if self._responder:
            answer = self._responder.refuse(code, detail, self._size)
        else:
            answer = self._registry.handler.refuse(code, detail, self.address)
        self._send(answer, last=True)

    def _fail(self, error: Exception) -> None:
        try:
            info = self._meaning.info if self._meaning else None
            answer = self._registry.handler.fail(error, info)
        except Exception:
            self.abort()  # otherwise the client would never get an answer
            raise
        if not self._transport.is_closing():
            self._send(answer, last=True)

    # Deadlines and flow control.

    def _time_out(self) -> None:
        if self._transport.is_closing():
            return
        if self._is_idle() or self._state in (SKIP, LINGER):
            self._close()
            return
        part = "body" if self._state == BODY else "head"
        detail = f"The {part} of the request took too long to arrive."
        self._refuse(REQUEST_TIMEOUT, detail)
        self._buffer.clear()

    def _pace_reading(self) -> None:
        self._flow.set_reading(self._flow.writable and self._state not in PAUSED)

    def _close(self) -> None:
        self._flow.close(self._registry.drain_deadline, self._registry.linger_deadline)

    def _is_idle(self) -> bool:
        return self._state == HEAD and not self._buffer.unread
