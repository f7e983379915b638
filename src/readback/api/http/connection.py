"""One HTTP/1.1 connection: bytes to requests, answers to bytes.

A connection finds the messages in what it receives, keeps their order and deadlines,
and meets the duties that RFC 9112 gives to a server. It asks a handler what to answer.
Its states are explained in `states.py`.

There are two ways to an answer. A whole message whose head is of a known kind
(`heads.py`) and whose key is known is answered at once. All others go through `_work`,
one message at a time.
"""

import asyncio
from math import inf
from typing import Any, cast

from readback.api.http.answer import CONTINUE, complete
from readback.api.http.chunked_body import ChunkedBody
from readback.api.http.flow_control import FlowControl, peer_address
from readback.api.http.handler import Outcome, Responder
from readback.api.http.head import Head
from readback.api.http.heads import Kind, LastHead
from readback.api.http.receive_buffer import NOTHING_RECEIVED, ReceiveBuffer
from readback.api.http.refused import REQUEST_TIMEOUT, UNAVAILABLE, Refused, oversized
from readback.api.http.registry import ConnectionRegistry
from readback.api.http.states import BODY, HEAD, LINGER, PAUSED, QUEUED, SKIP, WAITING


class Connection(asyncio.Protocol):
    """One client's connection."""

    # fmt: off
    __slots__ = (
        "_address", "_buffer", "_chunks", "_deadline", "_flow", "_head", "_last",
        "_last_responder", "_may_answer", "_received_eof", "_registry", "_responder",
        "_size", "_skip_bytes", "_state", "_transport", "_unchecked", "opened_at",
    )
    # fmt: on

    def __init__(self, registry: ConnectionRegistry) -> None:
        self._registry = registry
        self._address: str | None = None
        self.opened_at = registry.now
        self._state, self._deadline = HEAD, registry.head_deadline
        self._buffer = NOTHING_RECEIVED
        # The message being read: its head, the declared size of its body, and the kind
        # and bytes of the head until its key is checked.
        self._head: Head | None = None
        self._size = 0
        self._unchecked: tuple[Kind[Any], bytes] | None = None
        self._chunks: ChunkedBody | None = None
        self._responder: Responder | None = None
        self._skip_bytes, self._received_eof = 0, False
        # Whether a whole message may be answered without being buffered: exactly
        # between two messages, and only while the connection stays open and is read.
        self._may_answer = registry.retire_before <= registry.now
        # The last head that was found if a client repeats it.
        self._last: LastHead | None = None
        self._last_responder: Responder | None = None

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._flow = FlowControl(self._transport)
        if not self._registry.connect(self):
            detail = "There are too many open connections."
            self._send(self._refusal(UNAVAILABLE, detail), last=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.disconnect(self)
        self._state, self._may_answer = LINGER, False
        self._last = self._last_responder = None

    def data_received(self, data: bytes) -> None:
        try:
            if self._may_answer:
                again = self._last and self._answer_again(self._last, data)
                if again or self._answer_known(data):
                    return
                self._may_answer = False
            self._receive(data)
        except Exception as error:
            self._fail(error)

    def eof_received(self) -> bool:
        # RFC 9112 §9.6: a client may close its side and still read. Complete requests
        # are answered first; one cut off by the end is dropped (§8).
        self._received_eof = True
        if self._state in PAUSED or not self._flow.writable:
            return self._transport.can_write_eof()
        self._close()
        return False

    def pause_writing(self) -> None:
        """Stop reading, too, from a client that does not read our answers."""
        self._may_answer = False
        self._flow.pause_writing(self._registry.drain_deadline)
        self._pace_reading()

    def resume_writing(self) -> None:
        self._flow.resume_writing()
        if not self._transport.is_closing():
            self._pace_reading()
            self._work()

    # Called by the handler.

    @property
    def address(self) -> str:
        """The peer's; made when it is needed, because behind a proxy nobody does."""
        if self._address is None:
            self._address = peer_address(self._transport)
        return self._address

    def resume(self, outcome: Outcome) -> None:
        if self._state == WAITING and not self._transport.is_closing():
            self._work(outcome)
            self._pace_reading()

    # Called by the registry.

    def check(self, now: float) -> None:
        if now >= self._flow.drain_deadline:
            self.abort()
        elif now >= self._deadline and self._flow.writable:
            self._time_out()

    def retire(self) -> None:
        self._may_answer = False

    def end_if_idle(self, linger_seconds: float) -> None:
        # RFC 9112 §9.6: a request that is on its way must not be met with a reset.
        if self._is_idle() and not self._transport.is_closing():
            self._state, self._may_answer = LINGER, False
            self._deadline = self._registry.now + linger_seconds
            if not self._flow.close_for_writing():
                self._close()

    def abort(self) -> None:
        self._transport.abort()

    # Reading: one message at a time.

    def _answer_again(self, last: LastHead, data: bytes) -> bool:
        """Answer a whole message whose head is the last one, but for its length."""
        before, after, start, responder, address = last
        registry, size = self._registry, len(data) - start
        if data[:start] != b"%b%d%b" % (before, size, after):
            self._last = None  # the connection has several clients
            return False
        if responder.address is not address or size > registry.max_body:
            return False
        try:
            answer = responder.answer_known(data, start)
        except Exception:
            self._responder, self._size = responder, size  # to count it
            raise
        if answer is None:
            return False
        self._deadline = registry.idle_deadline
        self._transport.write(answer)
        return True

    def _answer_known(self, data: bytes) -> bool:
        """Answer a whole message if its kind of head and its key are known."""
        registry, heads = self._registry, self._registry.heads
        found = heads.accepted.find(data) or heads.others.find(data)
        if found is None:
            return False
        kind, key, forwarded, size, start = found
        if len(data) != start + size or not kind.is_plain:
            return False
        if start > registry.max_head or size > registry.max_body:
            return False
        responder = registry.handler.find(kind.info, key, forwarded, self)
        if responder is None:
            return False
        # Many requests that are refused must not make others wait.
        if responder.is_refusal and not registry.queue.has_room():
            return False
        try:
            answer = responder.answer_known(data, start)
        except Exception:
            self._responder, self._size = responder, size  # to count it
            raise
        if answer is None:
            return False
        if not kind.head.keep_alive:
            self._head = kind.head
            self._send(answer)
            return True
        if responder is self._last_responder or responder.is_refusal:
            self._last = kind.last_head(data, responder)
        self._last_responder = responder
        self._deadline = registry.idle_deadline
        self._transport.write(answer)
        return True

    def _receive(self, data: bytes) -> None:
        if self._state == LINGER:
            return
        if self._buffer is NOTHING_RECEIVED:
            self._buffer = ReceiveBuffer()
        self._buffer.append(data)
        if self._state in PAUSED:
            self._pace_reading()
        elif self._state == BODY or self._registry.queue.enter(self._take_turn):
            self._work()
        else:
            self._state = QUEUED

    def _take_turn(self) -> None:
        if self._state == QUEUED and not self._transport.is_closing():
            self._state = SKIP if self._skip_bytes else HEAD
            self._work()
            self._pace_reading()

    def _work(self, outcome: Outcome | None = None) -> None:
        """Read and answer messages until bytes, room to write or a key is missing."""
        try:
            if outcome is not None:
                self._proceed(outcome)
            self._read_messages()
        except Refused as refused:
            self._send(self._refusal(refused.code, refused.detail), last=True)
        except Exception as error:
            self._fail(error)
        self._settle()

    def _read_messages(self) -> None:
        first = progress = True
        while progress and self._flow.writable and self._buffer.unread:
            if self._state == HEAD:
                # Others must not wait for all messages of a client that pipelines.
                if not first and not self._registry.queue.enter(self._take_turn):
                    self._state = QUEUED
                    return
                progress = self._read_head()
                first = False
            elif self._state == BODY:
                progress = self._read_body()
            else:
                progress = self._state == SKIP and self._skip_body()

    def _settle(self) -> None:
        """Drop what has been read, and go back to answering whole messages."""
        if self._state == LINGER:
            return self._buffer.clear()
        self._buffer.drop_read()
        self._may_answer = (
            self._is_idle()
            and not self._buffer.empty_lines  # whose count has to end
            and self._flow.writable
            and self.opened_at >= self._registry.retire_before
        )
        if self._received_eof and self._flow.writable and self._state not in PAUSED:
            self._close()

    def _read_head(self) -> bool:
        buffer = self._buffer
        begun = buffer.head_checked
        data = buffer.peek_head(self._registry.limits.head_bytes)
        if data is not None:
            self._begin(data)
            return True
        if not begun and buffer.head_checked:
            # A client that sends its head in pieces has a deadline from the first one.
            # Empty lines before it do not count, so they extend no deadline.
            self._deadline = self._registry.head_deadline
        return False

    def _begin(self, data: bytes) -> None:
        registry = self._registry
        kind, key, forwarded, size, _ = registry.heads.read(data)
        head = kind.head
        self._head, self._size, self._unchecked = head, size, (kind, data)
        self._buffer.drop_head()
        if head.chunked:
            limits = registry.limits
            self._chunks = ChunkedBody(limits.head_bytes, limits.head_fields)
        outcome = registry.handler.begin(head, kind.info, key, forwarded, size, self)
        if outcome is None:
            self._state, self._deadline = WAITING, inf
        else:
            self._proceed(outcome)

    def _proceed(self, outcome: Outcome) -> None:
        """Answer a request at once, or read its body."""
        head, unchecked = self._head, self._unchecked
        assert head and unchecked
        if isinstance(outcome, bytes):
            return self._answer_early(head, outcome)
        self._registry.heads.note_accepted(*unchecked)
        self._unchecked = None
        self._responder = outcome
        max_body = self._registry.max_body
        if self._size > max_body:
            raise oversized(max_body, f"{self._size} are declared")
        # RFC 9112 §6: Content-Length or Transfer-Encoding signals a body.
        if not head.chunked and not self._size:
            self._send(outcome.answer(b""))
            return
        self._state, self._deadline = BODY, self._registry.body_deadline
        # RFC 9110 §10.1.1: not if part of the body is already here.
        if head.expects_continue and not self._buffer.unread:
            self._transport.write(CONTINUE)

    def _read_body(self) -> bool:
        responder, chunks = self._responder, self._chunks
        assert responder is not None
        if chunks is None:
            body = self._buffer.take(self._size)
        else:
            body = self._buffer.take_chunks(chunks, self._registry.max_body)
        if body is not None:
            self._send(responder.answer(body))
        return body is not None

    def _skip_body(self) -> bool:
        self._skip_bytes -= self._buffer.skip(self._skip_bytes)
        if not self._skip_bytes:
            self._state, self._deadline = HEAD, self._registry.idle_deadline
        return True

    # Answering.

    def _answer_early(self, head: Head, answer: bytes) -> None:
        """Answer before the body is read, which must never be parsed as a request.

        RFC 9112 §9.3: either read all of the body, or close the connection.
        """
        size, max_body = self._size, self._registry.max_body
        has_body = head.chunked or size > 0
        last = has_body and (size > max_body or not head.may_skip_body())
        if self._send(answer, last) and size:
            self._state, self._deadline = SKIP, self._registry.body_deadline
            self._skip_bytes = size

    def _send(self, answer: bytes, last: bool = False) -> bool:
        """Write one answer; return whether the connection stays open after it."""
        head, self._head, self._responder = self._head, None, None
        self._chunks = self._unchecked = None
        self._state, self._deadline = HEAD, self._registry.idle_deadline
        last = last or self.opened_at < self._registry.retire_before
        closing = last or (head is not None and not head.keep_alive)
        if closing or not (head and head.plain):
            # If the head was refused, the method is read from its bytes.
            bodiless = (
                head.method == b"HEAD" if head else self._buffer.begins_with(b"HEAD ")
            )
            answer = complete(answer, head, closing=closing, bodiless=bodiless)
        self._transport.write(answer)
        if not closing:
            return True
        self._state, self._may_answer = LINGER, False
        self._deadline = self._registry.linger_deadline
        done = self._received_eof or self._transport.is_closing()
        sending = last or self._buffer.unread > 0
        if done or not (self._flow.close_for_writing() or sending):
            self._close()
        return False

    def _refusal(self, code: str, detail: str) -> bytes:
        if self._responder:
            return self._responder.refuse(code, detail, self._size)
        return self._registry.handler.refuse(code, detail, self.address)

    def _fail(self, error: Exception) -> None:
        try:
            if self._responder:
                answer = self._responder.fail(error, self._size)
            else:
                answer = self._registry.handler.fail(error, self._head)
        except Exception:
            self.abort()  # else the client would wait for nothing
            raise
        if not self._transport.is_closing():
            self._send(answer, last=True)

    # Time and pace.

    def _time_out(self) -> None:
        # In our queue, it is not the client who is late.
        if self._state == QUEUED or self._transport.is_closing():
            return None
        if self._is_idle() or self._state in (SKIP, LINGER):
            return self._close()
        part = "body" if self._state == BODY else "head"
        detail = f"The {part} of the request took too long to arrive."
        self._send(self._refusal(REQUEST_TIMEOUT, detail), last=True)
        self._settle()

    def _pace_reading(self) -> None:
        self._flow.set_reading(self._flow.writable and self._state not in PAUSED)

    def _close(self) -> None:
        self._flow.close(self._registry.drain_deadline, self._registry.linger_deadline)

    def _is_idle(self) -> bool:
        return self._state == HEAD and not self._buffer.unread
