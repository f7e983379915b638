"""POST /v1/chat/completions: decode strictly, and read the text back.

`refusal.py` checks a body against every rule. When the next body has the same bytes
before and after its text, only the text is decoded.
"""

from time import monotonic
from typing import Annotated

import msgspec

from readback.api.data.keyring import Record
from readback.api.endpoints.exchange import Exchange, Services
from readback.api.endpoints.long_texts import BACKSLASH, MIN_BYTES, is_plain
from readback.api.endpoints.refusal import Explanation, Finding, examine, explain
from readback.api.endpoints.request_info import RequestInfo
from readback.contract import MAX_CONTENT_BYTES

_Content = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CONTENT_BYTES)]


class _RawMessage(msgspec.Struct):
    content: msgspec.Raw  # as it is written


class _RawRequest(msgspec.Struct):
    messages: list[_RawMessage]


_decode_raw = msgspec.json.Decoder(_RawRequest).decode
_decode_text = msgspec.json.Decoder(_Content).decode
# UnicodeDecodeError is not msgspec's own.
_DECODING_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError)
# What is kept of a body for each key: everything but the text.
_MAX_FRAME_BYTES = 1024


class Chat(Exchange):
    """Reads one message back.

    A client that repeats its head repeats most of its body as well: everything but the
    text. So the body is split around the text, and when its beginning and its end are
    received again, only the text between them is decoded, whatever its length. It is
    sent back as received.
    """

    __slots__ = ("_closing", "_closing_size", "_opening", "_opening_size")

    def __init__(
        self, services: Services, record: Record, info: RequestInfo, address: str
    ) -> None:
        super().__init__(services, record, info, address)
        # What precedes and follows the text in the last body that was accepted, with
        # the quotes. At first, bytes that are in no such body.
        self._opening, self._opening_size = b"\0", 1
        self._closing, self._closing_size = b"\0", 1

    def answer(self, body: bytes) -> bytes:
        if self._refused_body and hash(body) == self._refused_body[0]:
            return self._refuse_body(body, self._refused_body[1])
        content = self._read(body)
        if isinstance(content, Explanation):
            self._refused_body = hash(body), content
            return self._refuse_body(body, content)
        opening, text, closing = split_body(body)
        if 0 < len(opening) + len(closing) <= _MAX_FRAME_BYTES:
            self._opening, self._opening_size = opening, len(opening)
            self._closing, self._closing_size = closing, len(closing)
        created = self._limiter.number(self._record.slot, self._record.used_at)
        answer = self._replies.completion(text, len(content.encode()), created)
        return self._count_success(answer, len(body))

    def answer_known(self, data: bytes, start: int, end: int) -> bytes | None:
        # The text is between what precedes and follows it in most bodies of the client.
        begin, stop = start + self._opening_size, end - self._closing_size
        if data[start:begin] != self._opening or data[stop:end] != self._closing:
            return super().answer_known(data, start, end)
        text, size = data[begin - 1 : stop + 1], stop - begin
        if size < MIN_BYTES or text.isascii() or not is_plain(text):
            try:
                content = _decode_text(text)
            except _DECODING_ERRORS:
                return super().answer_known(data, start, end)
            if BACKSLASH in text:
                size = len(content.encode())
        if size > MAX_CONTENT_BYTES:
            return super().answer_known(data, start, end)
        record = self._record
        if not record.accepted:
            return None
        record.used_at = now = monotonic()
        created = self._limiter.admit(record.slot, now)
        if not created:
            return self.refuse_rate(end - start)
        answer = self._replies.completion(text, size, created)
        # The code of `_count_success`, without the call.
        tally = self._succeeded
        if not tally.open:
            tally = self._open_success()
        tally.requests += 1
        tally.request_bytes, tally.answer_bytes = end - start, len(answer)
        return answer

    def _read(self, body: bytes) -> str | Explanation:
        """Return the text of a body, or the reason to refuse it."""
        content, undeclared = examine(body), self.info.media_type_detail
        if isinstance(content, str) and not undeclared:
            return content
        findings = [] if isinstance(content, str) else content
        if undeclared:
            code, ids = "unsupported_media_type", ("content-type",)
            # A body that is not JSON was not meant to be, or it is compressed.
            others = [each for each in findings if each.code != "invalid_json"]
            findings = [Finding(code, ids, undeclared), *others]
        return explain(findings, self.info.user_agent)

    def _refuse_body(self, body: bytes, explanation: Explanation) -> bytes:
        code, detail, differences = explanation
        return self.refuse(code, detail, len(body), differences)


def split_body(body: bytes) -> tuple[bytes, bytes, bytes]:
    """Return an accepted body before its text, the text as it is written, and the rest.

    The text has quotes, which also belong to what is before and after it. If the same
    bytes appear elsewhere (the text may be "user"), only the text is returned.
    """
    text = bytes(_decode_raw(body).messages[0].content)
    at = body.find(text)
    if body.find(text, at + 1) >= 0:
        return b"", text, b""
    return body[: at + 1], text, body[at + len(text) - 1 :]
