"""The requests of one known key, from one program at one address.

The base of the two endpoints, and the simpler one of them.
"""

import json
from dataclasses import dataclass
from time import monotonic

from readback.api.data.journal import Event, EventFields, Journal, Tally
from readback.api.data.keyring import Record
from readback.api.data.unmatched import UnmatchedRequests
from readback.api.endpoints.refusal import Finding, explain
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.request_info import RequestInfo
from readback.api.shared.limiter import Limiter
from readback.client_address import shorten
from readback.contract import MODEL_LIST, REFUSALS
from readback.differences import BODY_TOO_LARGE, BODY_UNUSED
from readback.http.refused import REQUEST_TOO_LARGE

_NO_TALLY = Tally(Event(b"", "", 0, "", "", "", ""))
_NO_TALLY.open = False
_KEY_NOT_ACCEPTED = (
    "This key is revoked or expired, or its account is not active with a confirmed "
    "e-mail address."
)
_MODELS = json.dumps(MODEL_LIST, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Services:
    """What all exchanges of a worker use."""

    replies: Replies
    limiter: Limiter
    journal: Journal
    unmatched: UnmatchedRequests


class Exchange:
    """Answers the requests of one known key with one program."""

    # fmt: off
    __slots__ = (
        "_address", "_journal", "_limiter", "_record", "_refused", "_replies",
        "_succeeded", "_unmatched", "info",
    )
    # fmt: on
    # What to change if the body is refused unread.
    oversized = BODY_TOO_LARGE

    def __init__(
        self, services: Services, record: Record, info: RequestInfo, address: str
    ) -> None:
        self._replies = services.replies
        self._limiter = services.limiter
        self._journal = services.journal
        self._unmatched = services.unmatched
        self._record = record
        self.info = info
        self._address = address
        # Where the last success and the last refusal are counted.
        self._succeeded = self._refused = _NO_TALLY

    def begin(self, size: int) -> "Exchange | bytes":
        """Return what answers a request, or its refusal."""
        record = self._record
        if not record.accepted:
            return self._refuse_key(size)
        now = monotonic()
        record.used_at = now
        if self._limiter.admit(record.slot, now):
            return self
        return self._refuse_rate(size)

    def answer(self, body: bytes) -> bytes:
        raise NotImplementedError

    def _refuse_key(self, size: int) -> bytes:
        agent = self.info.user_agent
        endpoint = self.info.endpoint
        self._unmatched.count(
            self._address, endpoint, "invalid_key", _KEY_NOT_ACCEPTED, agent
        )
        return self.refuse("invalid_key", _KEY_NOT_ACCEPTED, size)

    def _refuse_rate(self, size: int) -> bytes:
        wait = self._limiter.retry_after(self._record.slot)
        detail = f"This key has used up its rate; retry in {wait} s."
        return self.refuse("rate_limited", detail, size, retry_after=wait)

    def refuse(
        self,
        code: str,
        detail: str,
        size: int,
        differences: str = "",
        retry_after: int = 0,
    ) -> bytes:
        if code == REQUEST_TOO_LARGE:
            finding = Finding(code, (self.oversized,), detail)
            _, detail, differences = explain([finding], self.info.user_agent)
        explained = self.info.asks_to_explain or self._record.row.explains_refusals
        answer = self._replies.refusal(code, detail, retry_after, explained)
        detail = detail or REFUSALS[code].sentence
        tally = self._refused
        same = (tally.event.code, tally.event.detail) == (code, detail)
        if not same or not tally.open:
            event = self._event(code, detail, differences)
            tally = self._refused = self._journal.open(event)
        tally.count(size, len(answer))
        return answer

    def _count_success(self, answer: bytes, size: int) -> bytes:
        tally = self._succeeded
        if not tally.open:
            tally = self._succeeded = self._journal.open(self._event("", ""))
        tally.count(size, len(answer))
        return answer

    def _event(self, code: str, detail: str, differences: str = "") -> EventFields:
        digest = self._record.digest
        return journal_event(
            digest, self.info, self._address, code, detail, differences
        )


class ModelList(Exchange):
    """GET /v1/models: lists the one model. A body is read, but its content ignored."""

    __slots__ = ()
    oversized = BODY_UNUSED

    def answer(self, body: bytes) -> bytes:
        return self._count_success(self._replies.ok(_MODELS), len(body))


def journal_event(
    digest: bytes,
    info: RequestInfo,
    address: str,
    code: str,
    detail: str,
    differences: str,
) -> EventFields:
    status = REFUSALS[code].status.value if code else 200
    sender = shorten(address)
    agent = info.user_agent
    return digest, info.endpoint, status, code, detail, agent, sender, differences
