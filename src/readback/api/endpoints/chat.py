"""POST /v1/chat/completions: a strict decode, and the text read back.

One pass by a typed decoder accepts what the contract accepts and nothing else. When
it does not, `refusal.py` looks again, without hurry, for the first rule broken.
"""

from contextlib import suppress
from time import monotonic
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from readback.api.data.keyring import Record
from readback.api.endpoints.exchange import Exchange, Refused, Services
from readback.api.endpoints.refusal import examine
from readback.api.endpoints.request_info import RequestInfo
from readback.contract import (
    BYTES_PER_TOKEN,
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
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_ALWAYS = len(REQUIRED_FIELDS) + len(MESSAGE_FIELDS)
_BACKSLASH = 0x5C
# A text that no client sends by chance: finds the place of the text in a body.
_SAMPLE_TEXT = "readback \u2194 sample"
_SAMPLE = _encode(_SAMPLE_TEXT)


class Chat(Exchange):
    """Reads one message back.

    A client that repeats its head repeats most of its body, too: all but the text.
    So the bytes before and after the text are kept as a frame, and when they come
    again, only the text inside is decoded; it goes back as it came.
    """

    __slots__ = (
        "_admit",
        "_closing",
        "_completion",
        "_refusal",
        "_refused_hash",
    )

    def __init__(
        self, services: Services, record: Record, question: RequestInfo, address: str
    ) -> None:
        super().__init__(services, record, question, address)
        self._closing = b""
        self._refusal: Refused | None = None
        self._refused_hash = 0
        self._completion = services.replies.completion
        self._admit = services.limiter.admit

    def repeat(self, data: bytes, start: int) -> bytes | None:
        """Answer again; with a frame, `start` is just behind the opening quote."""
        closing = self._closing
        if not closing:
            return super().repeat(data, start)
        if not data.endswith(closing):
            return None
        # The quotes are part of the frame, and of the text as JSON.
        text = data[start - 1 : 1 - len(closing)]
        try:
            content = _decode_text(text)
        except _BROKEN:
            return None
        if content.isascii():
            size = len(content)
        elif _BACKSLASH in text:
            size = len(content.encode())
        else:  # Without an escape the text is its own UTF-8, between two quotes.
            size = len(text) - 2
        if not 0 < size <= MAX_CONTENT_BYTES:
            return None
        record = self._record
        record.used_at = now = monotonic()
        if not record.accepted or not (created := self._admit(record.slot, now)):
            return None
        return self._echo(text, size, created)

    def answer(self, body: bytes) -> bytes:
        if fault := self._question.media_fault:
            return self.refuse("unsupported_media_type", fault)
        # A client that is refused tries the same again. Nothing of the body is kept
        # but its hash, which is 64 bits and keyed.
        if self._refusal and hash(body) == self._refused_hash:
            return self.refuse(self._refusal.code, self._refusal.detail)
        try:
            content = read(body)
        except Refused as refused:
            self._refusal, self._refused_hash = refused, hash(body)
            return self.refuse(refused.code, refused.detail)
        text = _encode(content)
        # Only with the first answer: later, the connection counts on the opening.
        if self._question.repeatable and not self._accepted and not self._refused:
            self.opening, self._closing = frame(body, text)
        return self._echo(text, len(content.encode()), self.created)

    def _echo(self, text: bytes, size: int, created: int) -> bytes:
        tokens = (size + BYTES_PER_TOKEN - 1) // BYTES_PER_TOKEN
        return self._count(self._completion(text, created, tokens))


def frame(body: bytes, text: bytes) -> tuple[bytes, bytes]:
    """Cut an accepted body inside the quotes of its text; nothing if it is not there.

    The bytes of the text may stand elsewhere, too (a text can be "user"), or not at
    all (when it came with other escapes): a cut is right when another text put there
    is read as the text.
    """
    at = body.find(text)
    while at >= 0:
        before, after = body[:at], body[at + len(text) :]
        with suppress(*_BROKEN):
            if _decode(before + _SAMPLE + after).messages[0].content == _SAMPLE_TEXT:
                return before + b'"', b'"' + after
        at = body.find(text, at + 1)
    return b"", b""


def read(body: bytes) -> str:
    """Give the text of a request that keeps every rule, or raise `Refused`."""
    try:
        request = _decode(body)
    except _BROKEN:
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
    return content if kept and _names_once(request, body) else examine(body)


def _names_once(request: _Request, body: bytes) -> bool:
    """Tell that no field stands twice: the decoder would take the last in silence.

    Outside strings a colon stands once behind each name, so the colons of the body
    are those of the fields and those of the text. One written as an escape in the
    text could hide one behind a second name; then the slow pass decides.
    """
    names = _ALWAYS + (request.stream is not UNSET) + (request.max_tokens is not UNSET)
    in_text = request.messages[0].content.count(":")
    return body.count(b":") == names + in_text and not (in_text and b"\\u003" in body)
