"""POST /v1/chat/completions: decode strictly, and read the text back.

One pass of a typed decoder accepts what the contract accepts and nothing else. If it
does not accept a body, `refusal.py` looks again, slowly, for all broken rules.
"""

from time import monotonic
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from readback.api.data.keyring import Record
from readback.api.endpoints.exchange import Exchange, Services
from readback.api.endpoints.explanation import Explanation, explain
from readback.api.endpoints.refusal import Finding, examine
from readback.api.endpoints.replies import frame_for
from readback.api.endpoints.request_info import RequestInfo
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
    role: str
    content: Annotated[str, msgspec.Meta(min_length=1)]


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1, max_length=1)]
    stream: bool | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Request).decode
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode
# msgspec raises RecursionError on deep nesting, and UnicodeDecodeError is not its own.
_DECODING_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_REQUIRED_NAMES = len(REQUIRED_FIELDS) + len(MESSAGE_FIELDS)
_BACKSLASH = 0x5C
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
        "_at_closing", "_at_text", "_closing", "_completion", "_limiter",
        "_plain_frame", "_refused_body_hash", "_refused_with",
    )
    # fmt: on

    def __init__(
        self, services: Services, record: Record, info: RequestInfo, address: str
    ) -> None:
        super().__init__(services, record, info, address)
        # Why the last body was refused, and its hash: clients retry the same body.
        # Nothing else of it is kept. The hash is 64 bits and keyed.
        self._refused_with: Explanation | None = None
        self._refused_body_hash = 0
        self._completion = services.replies.completion
        self._limiter = services.limiter

    def answer(self, body: bytes) -> RepeatableAnswer:
        content = self._read(body)
        if isinstance(content, Explanation):
            return RepeatableAnswer(self.refuse(*content), self._repeat)
        text, size = _encode(content), len(content.encode())
        answer = self._succeed(text, size)
        plain_bytes = len(text) - 2
        # If the text is too long without escapes, others of its length may be refused.
        if not self._info.repeatable or plain_bytes > MAX_CONTENT_BYTES:
            return RepeatableAnswer(answer, self._repeat)
        parts = split_body(body, text)
        if parts is None:
            return RepeatableAnswer(answer, self._repeat)
        opening, self._closing = parts
        # Where the closing and the text are, counted from the end of the body. The
        # quotes belong to the opening and the closing, and to the text as JSON.
        self._at_closing = slice(-len(self._closing), None)
        self._at_text = slice(len(opening) - len(body) - 1, 1 - len(self._closing))
        # All texts have the same length as JSON, and most have no escapes.
        self._plain_frame = frame_for(len(text), plain_bytes)
        return RepeatableAnswer(answer, self._repeat_text, opening)

    def _repeat_text(self, data: bytes, start: int) -> bytes | None:
        """Answer a body with the same beginning and end but perhaps another text."""
        if data[self._at_closing] != self._closing:
            return None
        text = data[self._at_text]
        try:
            content = _decode_text(text)
        except _DECODING_ERRORS:
            return None
        frame = self._plain_frame
        if _BACKSLASH in text:
            frame = frame_for(len(text), len(content.encode()))
        record, limiter = self._record, self._limiter
        now = record.used_at = monotonic()
        slot = record.slot
        if not record.accepted or not (created := limiter.admit(slot, now)):
            return None
        answer = self._completion(text, created, frame)
        if limiter.turn[slot] != limiter.worker:
            answer = self._completion(text, limiter.settle(slot, now), frame)
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
        return self._succeed(_encode(content), len(content.encode()))

    def _succeed(self, text: bytes, size: int) -> bytes:
        """Return the success for a text whose request has been admitted."""
        limiter, slot, now = self._limiter, self._record.slot, self._record.used_at
        frame = frame_for(len(text), size)
        answer = self._completion(text, limiter.number(slot, now), frame)
        if limiter.turn[slot] != limiter.worker:
            answer = self._completion(text, limiter.settle(slot, now), frame)
        return self._count_success(answer)

    def _read(self, body: bytes) -> str | Explanation:
        """Return the text of a body, or the reason to refuse it."""
        if self._refused_with and hash(body) == self._refused_body_hash:
            return self._refused_with
        content = read_content(body)
        if isinstance(content, str) and not self._info.media_type_detail:
            return content
        findings = self._findings(content)
        self._refused_with = explain(findings, self._info.user_agent)
        self._refused_body_hash = hash(body)
        return self._refused_with

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
        if _surrounds_text(before, after):
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
    message = request.messages[0]
    content = message.content
    kept = (
        request.model == MODEL
        and message.role == ROLE
        and (len(content) <= MAX_CONTENT_BYTES)
        and (content.isascii() or len(content.encode()) <= MAX_CONTENT_BYTES)
        and request.stream is not True
        and (request.max_tokens is UNSET or request.max_tokens == MAX_TOKENS)
    )
    return content if kept and _names_are_unique(request, body) else examine(body)


def _names_are_unique(request: _Request, body: bytes) -> bool:
    """Return whether no field name is repeated; the decoder would take the last one.

    Outside of strings there is one colon after each name, so the colons of the body
    are those of the names and those of the text. An escaped colon in the text could
    hide the colon of a second name; then the slow pass decides.
    """
    stream, max_tokens = request.stream is not UNSET, request.max_tokens is not UNSET
    in_text = request.messages[0].content.count(":")
    colons = _REQUIRED_NAMES + stream + max_tokens + in_text
    return body.count(b":") == colons and not (in_text and b"\\u003" in body)
