"""POST /v1/chat/completions: decode strictly, and read the text back.

One pass of a typed decoder accepts what the contract accepts and nothing else. If it
does not accept a body, `refusal.py` looks again, slowly, for all broken rules.
"""

from time import monotonic
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from readback.api.data.keyring import Record
from readback.api.endpoints.exchange import Exchange, Services
from readback.api.endpoints.long_texts import BACKSLASH, is_long, is_plain
from readback.api.endpoints.refusal import Explanation, Finding, examine, explain
from readback.api.endpoints.replies import Frame, frame_for
from readback.api.endpoints.request_info import RequestInfo
from readback.api.http.repeat import Repetition
from readback.contract import (
    MAX_CONTENT_BYTES,
    MAX_TOKENS,
    MESSAGE_FIELDS,
    MODEL,
    REQUIRED_FIELDS,
    ROLE,
)


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal[ROLE]  # type: ignore[valid-type]
    content: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CONTENT_BYTES)]


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    model: Literal[MODEL]  # type: ignore[valid-type]
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1, max_length=1)]
    stream: bool | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Request).decode
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode
# msgspec raises RecursionError on deep nesting, and UnicodeDecodeError is not its own.
_DECODING_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_REQUIRED_NAMES = len(REQUIRED_FIELDS) + len(MESSAGE_FIELDS)
# Cannot be in the middle of a string, where quotes are escaped.
_CONTENT_NAME = b'"content":'
# A text that no client sends by chance; put in place of the real one by `split_body`.
_SAMPLE_TEXT = "readback \u2194 sample"
_SAMPLE = _encode(_SAMPLE_TEXT)
# What is kept of a body for each key: everything but the text.
_MAX_FRAME_BYTES = 1024


class Chat(Exchange):
    """Reads one message back.

    A client that repeats its head repeats most of its body as well: everything but the
    text. So the body is split around the text, and when its beginning and its end are
    received again, only the text between them is decoded; it is sent back as received.
    """

    __slots__ = ("_closing", "_opening", "_texts")

    def __init__(
        self, services: Services, record: Record, info: RequestInfo, address: str
    ) -> None:
        super().__init__(services, record, info, address)
        # What precedes and follows the text in the last body, with the quotes.
        self._opening = self._closing = b""
        # Answers bodies of the same length.
        self._texts: RepeatedTexts | None = None

    def answer(self, body: bytes) -> bytes:
        if self._refused_body and hash(body) == self._refused_body[0]:
            return self._refuse_body(body, self._refused_body[1])
        text = self._find_text(body)
        if text is not None:
            frame = frame_for(len(text), len(text) - 2)
            return self._succeed(text, frame, len(body))
        content = self._read(body)
        if isinstance(content, Explanation):
            self._refused_body = hash(body), content
            return self._refuse_body(body, content)
        text = _encode(content)
        if len(body) - len(text) <= _MAX_FRAME_BYTES:
            self._texts = None
            self._opening, self._closing = split_body(body, text) or (b"", b"")
        frame = frame_for(len(text), len(content.encode()))
        return self._succeed(text, frame, len(body))

    def answer_known(self, data: bytes, start: int) -> bytes | None:
        texts = self._texts
        if texts is not None and len(data) - start == texts.size:
            opening = start + texts.opening_size
            if data[start:opening] == self._opening:
                return texts.respond(data, opening)
        elif texts := self._texts_like(data[start:]):
            return texts.respond(data, start + texts.opening_size)
        return self._answer_again(data, start)

    def repetition(self, body: bytes) -> Repetition:
        texts = self._texts_like(body)
        if texts is None:
            return super().repetition(body)
        return Repetition(texts.respond, self._opening)

    def _texts_like(self, body: bytes) -> "RepeatedTexts | None":
        """Return what answers a body and others that differ only in their text."""
        if self._find_text(body) is None:
            return None
        self._texts = RepeatedTexts(self, self._opening, self._closing, len(body))
        return self._texts

    def _find_text(self, body: bytes) -> bytes | None:
        """Return the text, as JSON, of a body that differs in nothing else.

        None also if the text has escapes, which we would write differently.
        """
        opening, closing = self._opening, self._closing
        start, end = len(opening), len(body) - len(closing)
        # If it is too long, it may have to be refused.
        if not 0 < end - start <= MAX_CONTENT_BYTES:
            return None
        if not opening or body[:start] != opening or body[end:] != closing:
            return None
        text = body[start - 1 : end + 1]
        try:
            _decode_text(text)
        except _DECODING_ERRORS:
            return None
        return None if BACKSLASH in text else text

    def _succeed(self, text: bytes, frame: Frame, size: int) -> bytes:
        """Return the success for a text whose request has been admitted."""
        limiter, slot, now = self._limiter, self._record.slot, self._record.used_at
        replies = self._replies
        answer = replies.completion(text, limiter.number(slot, now), frame)
        if limiter.turn[slot] != limiter.worker:
            answer = replies.completion(text, limiter.settle(slot, now), frame)
        return self._count_success(answer, size)

    def _read(self, body: bytes) -> str | Explanation:
        """Return the text of a body, or the reason to refuse it."""
        content = read_content(body)
        if isinstance(content, str) and not self.info.media_type_detail:
            return content
        return explain(self._findings(content), self.info.user_agent)

    def _refuse_body(self, body: bytes, explanation: Explanation) -> bytes:
        code, detail, differences = explanation
        return self.refuse(code, detail, len(body), differences)

    def _findings(self, content: str | list[Finding]) -> list[Finding]:
        """Return what is wrong with a body and with the way it is declared."""
        findings = [] if isinstance(content, str) else content
        if not (detail := self.info.media_type_detail):
            return findings
        undeclared = Finding(
            "unsupported_media_type", ("content-type",), detail, detail
        )
        # A body that is not JSON was not meant to be, or it is compressed.
        others = [each for each in findings if each.code != "invalid_json"]
        return [undeclared, *others]


class RepeatedTexts:
    """Answers bodies of one length that differ only in their text.

    Most of the texts have no escapes.
    """

    # fmt: off
    __slots__ = (
        "_at_closing", "_at_text", "_chat", "_closing", "_limiter", "_plain_frame",
        "_record", "_replies", "_texts_are_long", "opening_size", "size",
    )
    # fmt: on

    def __init__(self, chat: Chat, opening: bytes, closing: bytes, size: int) -> None:
        self._chat = chat
        self._record, self._limiter = chat._record, chat._limiter
        self._replies = chat._replies
        self._closing = closing
        self.size = size
        self.opening_size = len(opening)
        plain_bytes = size - len(opening) - len(closing)
        # Where the closing and the text are, counted from the end of the body. The
        # quotes belong to the opening and the closing, and to the text as JSON.
        end = -len(closing)
        self._at_closing = slice(end, None)
        self._at_text = slice(end - plain_bytes - 1, end + 1)
        self._plain_frame = frame_for(plain_bytes + 2, plain_bytes)
        self._texts_are_long = is_long(plain_bytes)

    def respond(self, data: bytes, start: int) -> bytes | None:
        """Answer a body with the same beginning and end but perhaps another text."""
        if data[self._at_closing] != self._closing:
            return None
        text, frame = data[self._at_text], self._plain_frame
        if not (self._texts_are_long and is_plain(text)):
            try:
                content = _decode_text(text)
            except _DECODING_ERRORS:
                return None
            if BACKSLASH in text:
                frame = frame_for(len(text), len(content.encode()))
        record, limiter, replies = self._record, self._limiter, self._replies
        now = record.used_at = monotonic()
        slot = record.slot
        if not record.accepted or not (created := limiter.admit(slot, now)):
            return None
        answer = replies.completion(text, created, frame)
        if limiter.turn[slot] != limiter.worker:
            answer = replies.completion(text, limiter.settle(slot, now), frame)
        # The code of `_count_success`, without the call.
        chat = self._chat
        tally = chat._succeeded
        if tally is None or not tally.open:
            tally = chat._open_success()
        tally.requests += 1
        tally.request_bytes = self.size
        tally.answer_bytes = len(answer)
        return answer


def split_body(body: bytes, text: bytes) -> tuple[bytes, bytes] | None:
    """Return the parts of an accepted body before and after its text.

    Both include a quote of the text. Return None if the text is not found: it may have
    been sent with other escapes than ours. The same bytes may also appear elsewhere
    (the text may be "user"): a place is the right one if a sample put there is decoded
    as the text.
    """
    at = body.find(text)
    while at >= 0:
        before, after = body[:at], body[at + len(text) :]
        if before.rstrip().endswith(_CONTENT_NAME) or _surrounds_text(before, after):
            return before + b'"', b'"' + after
        at = body.find(text, at + 1)
    return None


def _surrounds_text(before: bytes, after: bytes) -> bool:
    try:
        return _decode(before + _SAMPLE + after).messages[0].content == _SAMPLE_TEXT
    except _DECODING_ERRORS:
        return False


def read_content(body: bytes) -> str | list[Finding]:
    """Return the text of a request that keeps every rule, else the rules broken."""
    try:
        request = _decode(body)
    except _DECODING_ERRORS:
        return examine(body)
    content = request.messages[0].content
    stream, max_tokens = request.stream, request.max_tokens
    names = _REQUIRED_NAMES
    if stream is not UNSET:
        names += 1
    if max_tokens is not UNSET:
        names += 1
    kept = (
        (content.isascii() or len(content.encode()) <= MAX_CONTENT_BYTES)
        and stream is not True
        and (max_tokens is UNSET or max_tokens == MAX_TOKENS)
        and _has_names(body, names, content)
    )
    return content if kept else examine(body)


def _has_names(body: bytes, names: int, content: str) -> bool:
    """Return whether no field name is repeated; the decoder would take the last one.

    Outside of strings there is one colon after each name, so the colons of the body
    are those of the names and those of the text. An escaped colon in the text could
    hide the colon of a second name; then the slow pass decides.
    """
    in_text = body.count(b":") - names
    if not in_text:
        return True
    return in_text == content.count(":") and body.find(b"\\u003") < 0
