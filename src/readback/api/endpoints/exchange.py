"""The requests of one known key whose heads mean the same.

Here are the base class of the two endpoints, and the simpler endpoint.
"""

import json
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from readback import logs
from readback.api.data.journal import Event, EventFields, Journal, Tally
from readback.api.data.keyring import Record
from readback.api.data.unmatched import UnmatchedRequests
from readback.api.endpoints.delays import Delays
from readback.api.endpoints.refusal import Finding, explain
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.request_info import RequestInfo
from readback.api.shared.limiter import Limiter
from readback.client_address import shorten
from readback.contract import MODEL_LIST, REFUSALS
from readback.differences import BODY_TOO_LARGE, BODY_UNUSED
from readback.http.handler import Outcome, RequestOrigin
from readback.http.refused import REQUEST_TOO_LARGE

log = logging.getLogger("readback.api")

# In place of a tally that has not been opened yet.
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
    delays: Delays = field(default_factory=Delays)


class Exchange:
    """Answers the requests of one known key with one program."""

    # fmt: off
    __slots__ = (
        "_journal", "_limiter", "_record", "_refused", "_replies", "_succeeded",
        "_unmatched", "address", "forwarded", "info",
    )
    # fmt: on
    # The differences to report if the body is refused without being read.
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
        self.address = address
        # The X-Forwarded-For from which the address was read, if any.
        self.forwarded = b""
        # Where the last success and the last refusal are counted.
        self._succeeded = self._refused = _NO_TALLY

    def begin(self, size: int, origin: RequestOrigin) -> Outcome | None:
        """Return what answers a request, or its refusal."""
        return self if self._record.accepted else self._refuse_key(size)

    def answer(self, body: bytes) -> bytes:
        raise NotImplementedError

    def refuse(self, code: str, detail: str, size: int, differences: str = "") -> bytes:
        if not self._admit():
            return self._refuse_rate(size)
        if code == REQUEST_TOO_LARGE:
            finding = Finding(code, (self.oversized,), detail)
            _, detail, differences = explain([finding], self.info.user_agent)
        return self._refuse(code, detail, size, differences)

    def is_from(self, forwarded: bytes, origin: RequestOrigin) -> bool:
        """Return whether a request surely comes from the address of the last one."""
        if forwarded or self.forwarded:
            return self.forwarded == forwarded
        return self.address == origin.address

    def move(self, address: str) -> None:
        """Count the following requests for another address."""
        self.address = address
        self.forwarded = b""
        self._refused = _NO_TALLY
        if not self._succeeded.counts(shorten(address)):
            self._succeeded = _NO_TALLY

    def _admit(self) -> bool:
        """Take a request from the rate of the key; return False if it is used up."""
        record = self._record
        record.used_at = now = monotonic()
        return self._limiter.admit(record.slot, now)

    def _refuse_key(self, size: int) -> bytes:
        agent = self.info.user_agent
        endpoint = self.info.endpoint
        self._unmatched.count(
            self.address, endpoint, "invalid_key", _KEY_NOT_ACCEPTED, agent
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
        explained = is_explained(self.info, self._record)
        answer = self._replies.refusal(code, detail, retry_after, explained)
        detail = detail or REFUSALS[code].sentence
        tally = self._refused
        same = (tally.event.code, tally.event.detail) == (code, detail)
        if not same or not tally.open:
            event = self._event(code, detail, differences)
            tally = self._refused = self._journal.open(event)
        tally.count(size, len(answer))
        return answer

    def fail(self, error: Exception, size: int) -> bytes:
        """Log an unexpected exception, enter it into the journal, and answer."""
        answer = internal_error(self._replies, error)
        with suppress(Exception):  # the counting itself may have failed
            event = self._event("internal_error", REFUSALS["internal_error"].sentence)
            self._journal.note(event, size, len(answer))
        return answer

    def _count_success(self, answer: bytes, size: int) -> bytes:
        tally = self._succeeded
        if not tally.open:
            tally = self._succeeded = self._journal.open(self._event("", ""))
        tally.count(size, len(answer))
        return answer

    def _event(self, code: str, detail: str, differences: str = "") -> EventFields:
        digest = self._record.digest
        info = self.info
        address = self.address
        return journal_event(digest, info, address, code, detail, differences)


class ModelList(Exchange):
    """GET /v1/models: lists the one model. A body is read, but its content ignored."""

    __slots__ = ()
    oversized = BODY_UNUSED

    def answer(self, body: bytes) -> bytes:
        if not self._admit():
            return self._refuse_rate(len(body))
        return self._count_success(self._replies.ok(_MODELS), len(body))


def is_explained(info: RequestInfo, record: Record) -> bool:
    """Return whether the body of a refusal explains it, beyond the contract."""
    return info.asks_to_explain or record.row.explains_refusals


def internal_error(replies: Replies, error: Exception) -> bytes:
    """Log an unexpected exception, and return the 500 that has the id in the log."""
    request_id, answer = replies.internal_error()
    log.error(
        "internal error, X-Request-Id %s: %s", request_id, logs.describe_error(error)
    )
    return answer


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
