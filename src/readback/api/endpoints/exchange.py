"""One origin's requests with one head: who asks, through what, and what became of it.

The base of the two endpoints. An exchange lives as long as its head is repeated on
its connection, and all its requests belong to one key.
"""

from functools import lru_cache
from ipaddress import ip_address, ip_network
from time import monotonic
from typing import NamedTuple

from readback.api.data.journal import Event, Journal, Tally
from readback.api.data.keyring import Record
from readback.api.endpoints.replies import Replies
from readback.api.endpoints.request_info import RequestInfo
from readback.api.shared.limiter import Limiter
from readback.contract import MAX_BODY_BYTES, REFUSALS


class Services(NamedTuple):
    """What every exchange of a worker works with."""

    replies: Replies
    limiter: Limiter
    journal: Journal


class Refused(Exception):
    """A rule of the contract is broken; the detail says how, without the text."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


class Exchange:
    """The requests of one known key with one head."""

    __slots__ = (
        "_accepted",
        "_address",
        "_services",
        "_question",
        "_record",
        "_refused",
        "created",
        "opening",
    )
    max_body = MAX_BODY_BYTES

    def __init__(
        self, services: Services, record: Record, question: RequestInfo, address: str
    ) -> None:
        self._services = services
        self._record = record
        self._question = question
        self._address = address
        # Where the last success and the last refusal are counted.
        self._accepted: Tally | None = None
        self._refused: Tally | None = None
        self.created = 0
        # How the body must begin for `repeat`, which then starts behind it.
        self.opening = b""

    def admit(self) -> bool:
        """Count one request of an accepted key; False if it is beyond the rate."""
        record = self._record
        record.used_at = now = monotonic()
        self.created = self._services.limiter.admit(record.slot, now)
        return self.created > 0

    def answer(self, body: bytes) -> bytes:
        raise NotImplementedError

    def repeat(self, data: bytes, start: int) -> bytes | None:
        """Answer again, if the key is still accepted and within its rate."""
        if self._record.accepted and self.admit():
            return self.answer(data[start:])
        return None

    def refuse(self, code: str, detail: str, retry_after: int = 0) -> bytes:
        answer = self._services.replies.refusal(code, detail, retry_after)
        detail = detail or REFUSALS[code].sentence
        tally = self._refused
        same = tally and (tally.event.code, tally.event.detail) == (code, detail)
        if tally is None or not same or not tally.open:
            event = self._event(code, detail)
            tally = self._refused = self._services.journal.open(event)
        tally.count(self._question.request_bytes, len(answer))
        return answer

    def _count(self, answer: bytes) -> bytes:
        """Count a success; the requests of one exchange are all of one size."""
        tally = self._accepted
        if tally is None or not tally.open:
            tally = self._accepted = self._services.journal.open(self._event("", ""))
            tally.request_bytes = self._question.request_bytes
        tally.requests += 1
        tally.answer_bytes = len(answer)
        return answer

    def _event(self, code: str, detail: str) -> Event:
        key_id = self._record.key_id
        return event(key_id, self._question, self._address, code, detail)


def event(
    key_id: int, question: RequestInfo, address: str, code: str, detail: str
) -> Event:
    return Event(
        key_id=key_id,
        endpoint=question.endpoint,
        status=REFUSALS[code].status.value if code else 200,
        code=code,
        detail=detail,
        user_agent=question.user_agent,
        address=shortened(address),
    )


@lru_cache(1024)
def shortened(address: str) -> str:
    """Leave out the part of an address that tells one machine from its neighbours."""
    try:
        ip = ip_address(address)
    except ValueError:
        return ""  # a unix socket, or what a proxy has passed on unread
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.version == 4:
        return str(ip).rpartition(".")[0] + ".x"
    return str(ip_network((int(ip), 48), strict=False).network_address)
