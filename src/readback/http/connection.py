"""One HTTP/1.1 connection: bytes to requests, answers to bytes.

A connection finds the messages in what it receives, keeps their order and deadlines,
and meets the duties that RFC 9112 gives to a server. It asks a handler what to answer.
Its states are explained in `states.py`.

There are two ways to an answer. A whole message whose head is of a known kind
(`heads.py`) and whose key is known is answered at once. All others are parsed. What
follows the first message, or is not known, waits for its turn (`fair_queue.py`).
"""

import asyncio
from math import inf
from typing import Any, cast

from readback.http.answer import CONTINUE, complete
from readback.http.chunked_body import ChunkedBody
from readback.http.fair_queue import KNOWN_PER_TURN
from readback.http.flow_control import FlowControl
from readback.http.handler import Admitted, Outcome, Responder
from readback.http.heads import Kind, LastHead
from readback.http.receive_buffer import NOTHING_RECEIVED, ReceiveBuffer
from readback.http.refused import REQUEST_TIMEOUT, UNAVAILABLE, Refused, oversized
from readback.http.registry import ConnectionRegistry
from readback.http.states import BODY, HEAD, LINGER, PAUSED, QUEUED, SKIP, WAITING


class Connection(asyncio.Protocol):
    """One client's connection."""

    # fmt: off
    __slots__ = (
        "_address", "_buffer", "_chunks", "_deadline", "_flow", "_kind", "_last",
        "_last_responder", "_may_answer", "_received_eof", "_registry", "_responder",
        "_size", "_state", "_transport", "opened_at",
    )
    # fmt: on

    def __init__(self, registry: ConnectionRegistry) -> None:
        self._registry = registry
        self._address: str | None = None
        self.opened_at = registry.now
        self._state, self._deadline = HEAD, registry.head_deadline
        self._buffer = NOTHING_RECEIVED
        # The message being read: the kind of its head, and how long its body is or what
        # is left to skip of it.
        self._kind: Kind[Any] | None = None
        self._size = 0
        self._chunks: ChunkedBody | None = None
        self._responder: Admitted | None = None
        self._received_eof = False
        # Whether a whole message may be answered without being buffered: exactly
        # between two messages, and only while the connection stays open and is read.
        self._may_answer = registry.retire_before <= registry.now
        # The last head that was found if a client repeats it.
        self._last: LastHead | None = None
        self._last_responder: Responder | None = None

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._flow = FlowControl(self._transport, self._registry.outbox)
        if not self._registry.connect(self):
            self._refuse(UNAVAILABLE, "There are too many open connections.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.disconnect(self)
        self._state, self._may_answer = LINGER, False
        self._last = self._last_responder = None

    def data_received(self, data: bytes) -> None:
        try:
            end = self._answer_known(data) if self._may_answer else 0
            if end < len(data):
                self._may_answer = False
                self._receive(data, end)
        except Exception as error:
            self._fail(error)

    def eof_received(self) -> bool:
        # RFC 9112 §9.6: a client may close its side and still read. Complete requests
        # are answered first; one cut off by the end is dropped (§8).
        self._received_eof = True
        self._registry.outbox.flush()
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
            peer = self._transport.get_extra_info("peername")
            self._address = peer[0] if isinstance(peer, tuple) else ""  # a unix socket
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

    # Whole messages that are known.

    def _answer_known(self, data: bytes, at: int = 0, has_turn: bool = False) -> int:
        """Answer a whole message if its kind of head and its key are known.

        Return where it ends; 0 if it is not answered. If its head is the last one, but
        for its length, it is all of the data.
        """
        registry, last = self._registry, self._last
        if last is not None:
            around_length, head_size, responder, address = last
            start, end = head_size, len(data)
            size = end - start
            if data[:start] != (b"%d" % size).join(around_length):
                self._last = last = None  # the connection has several clients
            elif responder.address is not address:
                last = None
        if last is None:
            heads = registry.heads
            found = heads.accepted.find(data, at) or heads.others.find(data, at)
            if found is None:
                return 0
            kind, key, forwarded, size, start = found
            end = start + size
            if end > len(data) or not kind.is_plain or start - at > registry.max_head:
                return 0
            known = registry.handler.find(kind.info, key, forwarded, self)
            if known is None:
                return 0
            # Many requests that are refused must not make others wait.
            if known.is_refusal and not (has_turn or registry.queue.has_room()):
                return 0
            responder = known
            keep_alive = kind.head.keep_alive
            if keep_alive:
                is_repeated = responder is self._last_responder and not has_turn
                if is_repeated or responder.is_refusal:
                    self._last = kind.last_head(data, at, responder)
                self._last_responder = responder
            elif end - at < len(data):
                return 0
        if size > registry.max_body:
            return 0
        try:
            answer = responder.answer_known(data, start, end)
        except Exception as error:
            self._send(responder.fail(error, size), last=True)
            return end
        if answer is None:
            return 0
        if has_turn or (last is None and not keep_alive):
            self._kind = kind
            self._send(answer)
            return end
        self._deadline = registry.idle_deadline
        registry.outbox.add(self._transport, answer)
        return end

    # All others: one message at a time.

    def _receive(self, data: bytes, at: int) -> None:
        if self._state == LINGER:
            return
        if self._buffer is NOTHING_RECEIVED:
            self._buffer = ReceiveBuffer()
        self._buffer.append(data, at)
        if self._state in PAUSED:
            self._pace_reading()
        elif self._state != HEAD or self._registry.queue.enter(self._take_turn):
            self._work()
        else:
            self._state = QUEUED

    def _take_turn(self) -> None:
        if self._state == QUEUED and not self._transport.is_closing():
            self._state = HEAD
            self._work()
            self._pace_reading()

    def _work(self, outcome: Outcome | None = None) -> None:
        """Read and answer messages until bytes, room to write or a key is missing."""
        try:
            if outcome is not None:
                self._proceed(outcome)
            # Others must not wait for all messages of a client that pipelines: a turn
            # ends after one message that was parsed, or after several known ones.
            progress, left = True, KNOWN_PER_TURN if self._state == HEAD else 0
            while progress and self._flow.writable and self._buffer.unread:
                if self._state == BODY:
                    progress = self._read_body()
                elif self._state == SKIP:
                    self._size -= self._buffer.skip(self._size)
                    if not self._size:
                        self._state, self._deadline = HEAD, self._registry.idle_deadline
                elif self._state != HEAD:
                    break
                elif not left and not self._registry.queue.enter(self._take_turn):
                    self._state = QUEUED
                elif self._answer_buffered():
                    left = (left or KNOWN_PER_TURN) - 1
                else:
                    progress, left = self._read_head(), 0
        except Refused as refused:
            self._refuse(refused.code, refused.detail)
        except Exception as error:
            self._fail(error)
        self._settle()

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

    def _answer_buffered(self) -> bool:
        """Answer a whole message in the buffer if it is known."""
        buffer = self._buffer
        is_retired = self.opened_at < self._registry.retire_before
        if buffer.head_checked or buffer.empty_lines or is_retired:
            return False
        data, at = buffer.freeze()
        self._last = None  # others may follow this message, so it is looked up
        end = self._answer_known(data, at, has_turn=True)
        buffer.skip(max(0, end - at))
        return end > at

    def _read_head(self) -> bool:
        buffer, registry = self._buffer, self._registry
        begun = buffer.head_checked
        data = buffer.peek_head(registry.max_head)
        if data is None:
            if not begun and buffer.head_checked:
                # A client that sends its head in pieces has a deadline from the first.
                # Empty lines before it do not count, so they extend no deadline.
                self._deadline = registry.head_deadline
            return False
        kind, key, forwarded, size, _ = registry.heads.read(data)
        head = kind.head
        self._kind, self._size = kind, size
        buffer.drop_head(len(data))
        if head.chunked:
            self._chunks = ChunkedBody(registry.max_head)
        outcome = registry.handler.begin(head, kind.info, key, forwarded, size, self)
        if outcome is None:
            self._state, self._deadline = WAITING, inf
        else:
            self._proceed(outcome)
        return True

    def _proceed(self, outcome: Outcome) -> None:
        """Answer a request at once, or read its body."""
        assert self._kind is not None
        head, size = self._kind.head, self._size
        max_body, body_deadline = self._registry.max_body, self._registry.body_deadline
        # RFC 9112 §6: Content-Length or Transfer-Encoding signals a body.
        has_body = head.chunked or size > 0
        if isinstance(outcome, bytes):
            # RFC 9112 §9.3: either read all of the body, or close the connection. It
            # must never be parsed as a request.
            last = has_body and (size > max_body or not head.may_skip_body())
            if self._send(outcome, last) and size:
                self._state, self._deadline = SKIP, body_deadline
            return
        self._registry.heads.note_accepted(self._kind)
        self._responder = outcome
        if size > max_body:
            raise oversized(max_body, f"{size} are declared")
        if not has_body:
            self._send(outcome.answer(b""))
            return
        self._state, self._deadline = BODY, body_deadline
        # RFC 9110 §10.1.1: not if part of the body is already here.
        if head.expects_continue and not self._buffer.unread:
            self._flow.write(CONTINUE)

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

    # Answering.

    def _send(self, answer: bytes, last: bool = False) -> bool:
        """Write one answer; return whether the connection stays open after it."""
        head = self._kind.head if self._kind else None
        self._kind = self._responder = self._chunks = None
        self._state, self._deadline = HEAD, self._registry.idle_deadline
        last = last or self.opened_at < self._registry.retire_before
        closing = last or (head is not None and not head.keep_alive)
        if closing or not (head and head.plain):
            # If the head was refused, the method is read from its bytes.
            bodiless = (
                head.method == b"HEAD" if head else self._buffer.begins_with(b"HEAD ")
            )
            answer = complete(answer, head, closing=closing, bodiless=bodiless)
        self._flow.write(answer)
        if not closing:
            return True
        self._state, self._may_answer = LINGER, False
        self._deadline = self._registry.linger_deadline
        done = self._received_eof or self._transport.is_closing()
        sending = last or self._buffer.unread > 0
        if done or not (self._flow.close_for_writing() or sending):
            self._close()
        return False

    def _refuse(self, code: str, detail: str) -> None:
        if self._responder:
            answer = self._responder.refuse(code, detail, self._size)
        else:
            answer = self._registry.handler.refuse(code, detail, self.address)
        self._send(answer, last=True)

    def _fail(self, error: Exception) -> None:
        try:
            if self._responder:
                answer = self._responder.fail(error, self._size)
            else:
                info = self._kind.info if self._kind else None
                answer = self._registry.handler.fail(error, info)
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
        self._refuse(REQUEST_TIMEOUT, detail)
        self._settle()

    def _pace_reading(self) -> None:
        self._flow.set_reading(self._flow.writable and self._state not in PAUSED)

    def _close(self) -> None:
        self._flow.close(self._registry.drain_deadline, self._registry.linger_deadline)

    def _is_idle(self) -> bool:
        return self._state == HEAD and not self._buffer.unread
