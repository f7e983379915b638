"""The two endpoints: they answer and count the requests that have a known key."""

import asyncio
import json
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from readback.api.data.journal import Event, Journal, Tally
from readback.api.data.keyring import Record
from readback.api.data.unmatched import UnmatchedRequests
from readback.api.endpoints.refusal import Explanation, Finding, examine, explain
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.request_info import ENCODED, RequestInfo
from readback.api.shared.limiter import Limiter
from readback.client_address import address_in
from readback.contract import MAX_CONTENT_BYTES, MODEL, MODEL_LIST, REFUSALS
from readback.differences import BODY_TOO_LARGE, BODY_UNUSED
from readback.http.handler import Outcome, RequestOrigin
from readback.http.head import REQUEST_TOO_LARGE

# Stands for a tally that has not been opened yet.
_NO_TALLY = Tally(Event(b"", "", 0, "", "", ""))
_NO_TALLY.open = False
_KEY_NOT_ACCEPTED = (
    "This key is revoked or expired, or its account is not active with a confirmed "
    "e-mail address."
)
_MODELS = json.dumps(MODEL_LIST, separators=(",", ":")).encode()
# Not counting its text, a body that repeats a name is at least this long: the shortest
# body that the contract accepts, plus the shortest field that can be repeated.
_MAY_REPEAT_A_NAME = len(
    b'{"model":"%b","messages":[{"role":"user","content":}]}' % MODEL.encode()
) + len(b'"content":0,')
# model, messages, role and content
_REQUIRED_NAMES = 4
# Besides msgspec's own errors, decoding can raise these two of Python's.
_DECODING_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_BACKSLASH = 0x5C


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["user"]
    content: msgspec.Raw  # as the client wrote it


class _Request(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The part of the contract that types can express."""

    model: Literal["vendor-cabinet-preview-echo"]
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1, max_length=1)]
    stream: bool | UnsetType = UNSET
    max_tokens: Literal[2000] | UnsetType = UNSET


_Content = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CONTENT_BYTES)]
_decode = msgspec.json.Decoder(_Request).decode
_decode_content = msgspec.json.Decoder(_Content).decode

# A text in JSON, with its quotes, and the size of the decoded text in UTF-8.
Text = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class Services:
    """What all exchanges of a worker share."""

    replies: Replies
    limiter: Limiter
    journal: Journal
    unmatched: UnmatchedRequests
    # Set when the worker is told to stop.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


class Exchange:
    """Answers the requests that one program sends with one key."""

    # The difference to report if the body is too large to be read.
    oversized = BODY_TOO_LARGE

    def __init__(self, services: Services, record: Record, info: RequestInfo) -> None:
        self._replies = services.replies
        self._limiter = services.limiter
        self._journal = services.journal
        self._unmatched = services.unmatched
        self._stopping = services.stopping
        self._record = record
        self._info = info
        # Who sent the latest request; see `Api._sender`.
        self.sender = ""
        # The tally that counts successes.
        self._succeeded = _NO_TALLY

    def begin(self, size: int, origin: RequestOrigin) -> Outcome | None:
        """Return this exchange, which answers once the body is read, or a refusal."""
        return self if self._record.accepted else self._refuse_key(size)

    def answer(self, body: bytes) -> bytes:
        raise NotImplementedError

    def refuse(self, code: str, detail: str, size: int, differences: str = "") -> bytes:
        if not self._admit():
            return self._refuse_rate(size)
        if code == REQUEST_TOO_LARGE:
            finding = Finding(code, (self.oversized,), detail)
            _, detail, differences = explain([finding], self._info.user_agent)
        return self._refuse(code, detail, size, differences)

    def _admit(self) -> bool:
        record = self._record
        record.used_at = now = monotonic()
        return self._limiter.admit(record.slot, now)

    def _refuse_key(self, size: int) -> bytes:
        agent = self._info.user_agent
        endpoint = self._info.endpoint
        address = address_in(self.sender)
        self._unmatched.count(
            address, endpoint, "invalid_key", _KEY_NOT_ACCEPTED, agent
        )
        return self._refuse("invalid_key", _KEY_NOT_ACCEPTED, size)

    def _refuse_rate(self, size: int) -> bytes:
        wait = self._limiter.retry_after(self._record.slot)
        detail = f"This key has used up its rate; retry in {wait} s."
        return self._refuse("rate_limited", detail, size, retry_after=wait)

    def _refuse(
        self,
        code: str,
        detail: str,
        size: int,
        differences: str = "",
        retry_after: int = 0,
    ) -> bytes:
        explained = is_explained(self._info, self._record)
        answer = self._replies.refusal(code, detail, retry_after, explained)
        event = self._event(code, detail or REFUSALS[code].sentence, differences)
        self._journal.open(event).count(self.sender, size, len(answer))
        return answer

    def _count_success(self, answer: bytes, size: int) -> bytes:
        tally = self._succeeded
        if not tally.open:
            tally = self._succeeded = self._journal.open(self._event("", ""))
        tally.count(self.sender, size, len(answer))
        return answer

    def _event(self, code: str, detail: str, differences: str = "") -> Event:
        digest = self._record.digest
        return journal_event(digest, self._info, code, detail, differences)


class Chat(Exchange):
    """POST /v1/chat/completions: answers with the text of the one message."""

    def answer(self, body: bytes) -> bytes:
        found = None if self._info.media_type_detail else decode(body)
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
        """Return the text of a body, or why it is refused.

        Only this examination refuses a body, because only it can explain the refusal.
        """
        undeclared = self._info.media_type_detail
        content = examine(body)
        if isinstance(content, str) and not undeclared:
            return msgspec.json.encode(content), len(content.encode())
        findings = [] if isinstance(content, str) else content
        if undeclared:
            # A body of another type, or a compressed one, need not be JSON.
            others = [each for each in findings if each.code != "invalid_json"]
            code = "unsupported_media_type"
            header = "content-encoding" if undeclared == ENCODED else "content-type"
            findings = [Finding(code, (header,), undeclared), *others]
        return explain(findings, self._info.user_agent)


class ModelList(Exchange):
    """GET /v1/models: lists the one model. A body is read and ignored."""

    oversized = BODY_UNUSED

    def answer(self, body: bytes) -> bytes:
        if not self._admit():
            return self._refuse_rate(len(body))
        return self._count_success(self._replies.ok(_MODELS), len(body))


def decode(body: bytes) -> Text | None:
    """Return the text of a body that follows the contract, otherwise None."""
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
    """Return whether a name is repeated, which the decoder does not notice.

    The decoder has compared all strings but the text with fixed values, so each colon
    outside the text belongs to a name.
    """
    optional = (request.stream, request.max_tokens)
    names = _REQUIRED_NAMES + sum(value is not UNSET for value in optional)
    return body.count(b":") - written.count(b":") != names


def is_explained(info: RequestInfo, record: Record) -> bool:
    """Return whether the request or its key asks for an explanation in the body."""
    return info.asks_to_explain or record.row.explains_refusals


def journal_event(
    digest: bytes, info: RequestInfo, code: str, detail: str, differences: str
) -> Event:
    status = REFUSALS[code].status.value if code else 200
    agent = info.user_agent
    return Event(digest, info.endpoint, status, code, detail, agent, differences)
