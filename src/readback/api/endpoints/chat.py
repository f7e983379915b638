"""POST /v1/chat/completions: decode strictly, and read the text back."""

from time import monotonic
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from readback.api.endpoints.exchange import Exchange
from readback.api.endpoints.refusal import Explanation, Finding, examine, explain
from readback.api.endpoints.request_info import ENCODED
from readback.contract import MAX_CONTENT_BYTES, MODEL

# A body can repeat a name only if it is at least this long without its text: the
# shortest body that the contract accepts, plus the shortest field that can be added to
# it.
_MAY_REPEAT_A_NAME = len(
    b'{"model":"%b","messages":[{"role":"user","content":}]}' % MODEL.encode()
) + len(b'"content":0,')
# The model, the messages, the role and the content.
_REQUIRED_NAMES = 4
# RecursionError and UnicodeDecodeError are not msgspec's own.
_DECODING_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_BACKSLASH = 0x5C


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["user"]
    content: msgspec.Raw  # as it is written


class _Request(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What types can express of the contract; a test compares it with `contract`."""

    model: Literal["vendor-cabinet-preview-echo"]
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1, max_length=1)]
    stream: bool | UnsetType = UNSET
    max_tokens: Literal[2000] | UnsetType = UNSET


_Content = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CONTENT_BYTES)]
_decode = msgspec.json.Decoder(_Request).decode
_decode_content = msgspec.json.Decoder(_Content).decode

# A text as it is written in JSON, with its quotes, and its size in UTF-8.
Text = tuple[bytes, int]


class Chat(Exchange):
    """Reads one message back."""

    __slots__ = ()

    def answer(self, body: bytes) -> bytes:
        found = None if self.info.media_type_detail else decode(body)
        if found is None:
            examined = self._examine(body)
            if isinstance(examined, Explanation):
                code, detail, differences = examined
                return self.refuse(code, detail, len(body), differences)
            found = examined
        text, size = found
        record = self._record
        record.used_at = now = monotonic()
        created = self._limiter.number(record.slot, now)
        if not created:
            return self._refuse_rate(len(body))
        answer = self._replies.completion(text, size, created)
        return self._count_success(answer, len(body))

    def _examine(self, body: bytes) -> Text | Explanation:
        """Return the reason to refuse a body, or its text if there is none.

        Only the examination refuses a body, because it can explain why.
        """
        undeclared = self.info.media_type_detail
        content = examine(body)
        if isinstance(content, str) and not undeclared:
            return msgspec.json.encode(content), len(content.encode())
        findings = [] if isinstance(content, str) else content
        if undeclared:
            # The body is not meant to be JSON, or is compressed.
            others = [each for each in findings if each.code != "invalid_json"]
            code = "unsupported_media_type"
            header = "content-encoding" if undeclared == ENCODED else "content-type"
            findings = [Finding(code, (header,), undeclared), *others]
        return explain(findings, self.info.user_agent)


def decode(body: bytes) -> Text | None:
    """Return the text of a body that keeps every rule of the contract, else None."""
    try:
        request = _decode(body)
        written = bytes(request.messages[0].content)
        content = _decode_content(written)
    except _DECODING_ERRORS:
        return None
    if request.stream is True:
        return None
    around = len(body) - len(written)
    if around >= _MAY_REPEAT_A_NAME and _repeats_name(body, written, request):
        return None
    size = len(content.encode()) if _BACKSLASH in written else len(written) - 2
    return (written, size) if size <= MAX_CONTENT_BYTES else None


def _repeats_name(body: bytes, written: bytes, request: _Request) -> bool:
    """Return whether a name is repeated; the decoder used its last value.

    All strings except the text are fixed, so every colon outside the text follows a
    name.
    """
    optional = (request.stream, request.max_tokens)
    names = _REQUIRED_NAMES + sum(value is not UNSET for value in optional)
    return body.count(b":") - written.count(b":") != names
