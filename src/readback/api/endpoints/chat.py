"""POST /v1/chat/completions: decode strictly, and read the text back.

One pass of a typed decoder accepts what the contract accepts and nothing else. If it
does not accept a body, `refusal.py` looks again, slowly, for all broken rules.
"""

from time import monotonic
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from readback.api.endpoints.exchange import Exchange
from readback.api.endpoints.explanation import Explanation, explain
from readback.api.endpoints.long_texts import BACKSLASH, is_long, is_plain
from readback.api.endpoints.refusal import Finding, examine
from readback.api.endpoints.replies import Frame, frame_for
from readback.api.http.repeat import RepeatableAnswer
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


class Chat(Exchange):
    """Reads one message back.

    A client that repeats its head repeats most of its body as well: everything but the
    text. So the body is split around the text, and when its beginning and its end are
    received again, only the text between them is decoded; it is sent back as received.
    """

    # fmt: off
    __slots__ = (
        "_at_closing", "_at_text", "_closing", "_plain_frame", "_texts_are_long",
    )
    # fmt: on

    def answer(self, body: bytes) -> RepeatableAnswer | bytes:
        content = self._read(body)
        if isinstance(content, Explanation):
            return RepeatableAnswer(self.refuse(*content), self._repeat)
        text, size = _encode(content), len(content.encode())
        frame = frame_for(len(text), size)
        answer = self._succeed(text, frame)
        if not self._info.repeatable:
            return answer
        plain_bytes = len(text) - 2  # if the text has no escapes
        # If that is too long, other texts of the same length may have to be refused.
        parts = split_body(body, text) if plain_bytes <= MAX_CONTENT_BYTES else None
        if parts is None:
            return RepeatableAnswer(answer, self._repeat)
        if size != plain_bytes:
            frame = frame_for(len(text), plain_bytes)
        opening, closing = parts
        self._expect_texts(plain_bytes, closing, frame)
        return RepeatableAnswer(answer, self._repeat_text, opening)

    def _expect_texts(self, plain_bytes: int, closing: bytes, frame: Frame) -> None:
        """Prepare for other texts of the same length, most of them without escapes."""
        self._closing = closing
        # Where the closing and the text are, counted from the end of the body. The
        # quotes belong to the opening and the closing, and to the text as JSON.
        end = -len(closing)
        self._at_closing = slice(end, None)
        self._at_text = slice(end - plain_bytes - 1, end + 1)
        self._plain_frame = frame
        self._texts_are_long = is_long(plain_bytes)

    def _repeat_text(self, data: bytes, start: int) -> bytes | None:
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
        tally = self._succeeded
        if tally is None or not tally.open:
            tally = self._open_success()
        tally.requests += 1
        tally.answer_bytes = len(answer)
        return answer

    def _respond(self, body: bytes) -> bytes:
        content = self._read(body)
        if isinstance(content, Explanation):
            return self.refuse(*content)
        text = _encode(content)
        return self._succeed(text, frame_for(len(text), len(content.encode())))

    def _succeed(self, text: bytes, frame: Frame) -> bytes:
        """Return the success for a text whose request has been admitted."""
        limiter, slot, now = self._limiter, self._record.slot, self._record.used_at
        replies = self._replies
        answer = replies.completion(text, limiter.number(slot, now), frame)
        if limiter.turn[slot] != limiter.worker:
            answer = replies.completion(text, limiter.settle(slot, now), frame)
        return self._count_success(answer)

    def _read(self, body: bytes) -> str | Explanation:
        """Return the text of a body, or the reason to refuse it."""
        if self._refused_body and hash(body) == self._refused_body[0]:
            return self._refused_body[1]
        content = read_content(body)
        if isinstance(content, str) and not self._info.media_type_detail:
            return content
        findings = self._findings(content)
        explanation = explain(findings, self._info.user_agent)
        self._refused_body = hash(body), explanation
        return explanation

    def _findings(self, content: str | list[Finding]) -> list[Finding]:
        """Return what is wrong with a body and with the way it is declared."""
        findings = [] if isinstance(content, str) else content
        if not (detail := self._info.media_type_detail):
            return findings
        undeclared = Finding(
            "unsupported_media_type", ("content-type",), detail, detail
        )
        # A body that is not JSON was not meant to be, or it is compressed.
        others = [each for each in findings if each.code != "invalid_json"]
        return [undeclared, *others]


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
