"""The API as a handler: which endpoint a head asks for, and with which key.

Decides everything that can be decided before a body is read, in the order of the
contract: path and method, key, rate. Nothing here decodes a body.
"""

import time
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from readback import keys
from readback.api.data.keyring import Found, Keyring, Record
from readback.api.data.unmatched import UnmatchedRequests
from readback.api.endpoints.chat import Chat
from readback.api.endpoints.exchange import (
    Exchange,
    ModelList,
    Services,
    internal_error,
    journal_event,
)
from readback.api.endpoints.near_misses import PROBE
from readback.api.endpoints.presented_key import PresentedKey, presented_key
from readback.api.endpoints.request_info import READ_FIELDS, RequestInfo, describe
from readback.api.shared.rates import Rates
from readback.client_address import forwarded_address, network
from readback.contract import CHAT, MODELS, OTHER
from readback.http.handler import Outcome, RequestOrigin
from readback.http.head import Head
from readback.http.refused import MALFORMED_REQUEST
from readback.processes.shared_counters import WorkerCounters

# Retry-After when the database cannot be asked or there are too many connections.
RETRY_SECONDS = 2
# Kinds of heads that one key is used with; most keys belong to one program.
_MAX_EXCHANGES = 4
_EXCHANGES: dict[str, type[Exchange]] = {MODELS: ModelList, CHAT: Chat}
_UNKNOWN_KEY = "This key does not exist; compare it with the one shown in the cabinet."
_KEY_NOT_ACCEPTED = (
    "This key is revoked or expired, or its account is not active with a confirmed "
    "e-mail address."
)
_TOO_MANY_FAILURES = (
    "Too many requests from this address had a key that is not accepted"
)
_NOT_LOOKED_UP = (
    "The key could not be looked up because the database is unavailable; this does not "
    "mean that the key is wrong."
)


class _Received(NamedTuple):
    """A request whose head has been read."""

    info: RequestInfo
    address: str  # the client's
    size: int  # of the body, as declared


@dataclass(eq=False)
class Api:
    """Serves the contract."""

    _services: Services
    _keyring: Keyring
    _failures: Rates
    _counters: WorkerCounters
    _trusted_proxies: int
    _unmatched: UnmatchedRequests

    read_fields = READ_FIELDS

    def describe(self, head: Head) -> RequestInfo:
        return describe(head)

    def contains_secret(self, data: bytes) -> bool:
        return keys.contains_key(data)

    def find(
        self, info: RequestInfo, key: bytes, forwarded: bytes, origin: RequestOrigin
    ) -> "Exchange | RefusedClient | None":
        digest = keys.digest(key)
        record = self._keyring.find(digest)
        if record is not None:
            exchange: Exchange | None = record.exchanges.get(info)
            # Most clients stay where they are.
            if exchange is not None and (
                exchange.forwarded == forwarded
                if forwarded
                else exchange.address == origin.address
            ):
                return exchange
        address, source = self._read_address(forwarded, origin)
        if record is None or info.not_found_detail:
            # Why a key cannot exist matters only now, and costs more than to find it.
            presented = info.presented or presented_key(key)
            is_certain = info.not_found_detail or presented.detail
            if not is_certain and not self._keyring.is_absent(digest):
                return None
            return RefusedClient(self, _Received(info, address, 0), presented)
        exchange = self._exchange(info, record, address)
        # `heads.py` cuts out no long value, so that it may be kept.
        exchange.forwarded = source
        return exchange

    def _read_address(
        self, forwarded: bytes, origin: RequestOrigin
    ) -> tuple[str, bytes]:
        """Return a client's address, and the value that it was read from, if any."""
        header = forwarded.decode("ascii", "replace").strip()
        read = forwarded_address(header, self._trusted_proxies)
        return (origin.address, b"") if read is None else (read, forwarded)

    def begin(
        self,
        head: Head,
        info: RequestInfo,
        key: bytes,
        forwarded: bytes,
        size: int,
        origin: RequestOrigin,
    ) -> Outcome | None:
        presented = info.presented
        digest = presented.digest if presented else keys.digest(key)
        address, _ = self._read_address(forwarded, origin)
        request = _Received(info, address, size)
        record = self._keyring.find(digest)
        if record is not None and not info.not_found_detail:
            return self._admit(request, record)
        refusal = self.refuse_request(request, presented or presented_key(key))
        if refusal is None:
            self._keyring.wait(digest, partial(self._look_up_done, origin, request))
        return refusal

    def refuse_request(
        self, request: _Received, presented: PresentedKey
    ) -> bytes | None:
        """Return the refusal of a request; None if its key must be looked up."""
        if request.info.not_found_detail:
            return self._not_found(request, presented)
        if presented.detail:
            return self._refuse_key(request, presented.detail)
        if self._keyring.is_absent(presented.digest):
            return self._refuse_key(request, _UNKNOWN_KEY)
        return None

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        # Behind a proxy the address is the proxy's.
        if code == MALFORMED_REQUEST and not self._trusted_proxies:
            self._unmatched.count(address, OTHER, code, detail, "")
        retry_after = RETRY_SECONDS if code == "unavailable" else 0
        self._counters.add((OTHER, code))
        return self._services.replies.refusal(code, detail, retry_after)

    def fail(self, error: Exception, info: RequestInfo | None) -> bytes:
        self._counters.add((info.endpoint if info else OTHER, "internal_error"))
        return internal_error(self._services.replies, error)

    def _look_up_done(
        self, origin: RequestOrigin, request: _Received, found: Found
    ) -> None:
        """Continue with a request that has waited for its key to be looked up."""
        outcome: Outcome
        info = request.info
        try:
            if found is None:
                outcome = self._refuse_key(request, _UNKNOWN_KEY)
            elif isinstance(found, Record):
                outcome = self._admit(request, found)
            else:
                outcome = self._refuse(
                    "unavailable", _NOT_LOOKED_UP, info, RETRY_SECONDS
                )
        except Exception as error:
            # Else the connection would wait forever.
            outcome = self.fail(error, info)
        origin.resume(outcome)

    def _admit(self, request: _Received, record: Record) -> Exchange | bytes:
        info, address, size = request
        exchange = self._exchange(info, record, address)
        try:
            if not record.accepted:
                return self._count_failure(request, _KEY_NOT_ACCEPTED) or (
                    exchange.refuse("invalid_key", _KEY_NOT_ACCEPTED, size)
                )
            if not exchange.admit():
                return exchange.refuse_rate(size)
        except Exception as error:
            return exchange.fail(error, size)
        return exchange

    def _exchange(self, info: RequestInfo, record: Record, address: str) -> Exchange:
        exchange: Exchange | None = record.exchanges.get(info)
        if exchange is None:
            if len(record.exchanges) >= _MAX_EXCHANGES:
                del record.exchanges[next(iter(record.exchanges))]
            kind = _EXCHANGES[info.endpoint]
            exchange = kind(self._services, record, info, address)
            record.exchanges[info] = exchange
        elif exchange.address != address:
            exchange.move(address)
        return exchange

    def _not_found(self, request: _Received, presented: PresentedKey) -> bytes:
        """Refuse a request, and enter it into the journal of its key, if any."""
        info, address, size = request
        detail, difference = info.not_found_detail, info.not_found_difference
        answer = self._services.replies.refusal(
            "not_found", detail, explained=info.asks_to_explain
        )
        answer_bytes = len(answer)

        def enter(found: Found) -> None:
            if not isinstance(found, Record):
                return self._count_not_found(request)
            digest = found.digest
            event = journal_event(
                digest, info, address, "not_found", detail, difference
            )
            self._services.journal.note(event, size, answer_bytes)

        digest = presented.digest
        record = self._keyring.find(digest)
        if record is not None or presented.detail or self._keyring.is_absent(digest):
            enter(record)
        else:
            self._keyring.wait(digest, enter)
        return answer

    # Refusals without a journal: no key is known.

    def _refuse_key(self, request: _Received, detail: str) -> bytes:
        return self._count_failure(request, detail) or self._refuse(
            "invalid_key", detail, request.info
        )

    def _count_failure(self, request: _Received, detail: str) -> bytes | None:
        """Count a failed authentication; return a refusal if there are too many."""
        info, address, _ = request
        slot = self._failures.slot(network(address).encode())
        if self._failures.take(slot, time.monotonic()):
            self._unmatched.count(
                address, info.endpoint, "invalid_key", detail, info.user_agent
            )
            return None
        sentence = f"{_TOO_MANY_FAILURES}."
        self._unmatched.count(
            address, info.endpoint, "rate_limited", sentence, info.user_agent
        )
        wait = self._failures.retry_after(slot)
        detail = f"{_TOO_MANY_FAILURES}; retry in {wait} s."
        return self._refuse("rate_limited", detail, info, wait)

    def _count_not_found(self, request: _Received) -> None:
        info, address, _ = request
        self._counters.add((OTHER, "not_found"))
        # The probe imitates other programs, which nobody is waiting for.
        if info.not_found_detail != PROBE.sentence:
            self._unmatched.count(
                address, OTHER, "not_found", info.not_found_detail, info.user_agent
            )

    def _refuse(
        self, code: str, detail: str, info: RequestInfo, retry_after: int = 0
    ) -> bytes:
        self._counters.add((info.endpoint, code))
        return self._services.replies.refusal(
            code, detail, retry_after, info.asks_to_explain
        )


class RefusedClient:
    """Refuses the requests of a client whose head and key stay the same."""

    __slots__ = ("_api", "_presented", "_request", "address", "is_refusal")

    def __init__(self, api: Api, request: _Received, presented: PresentedKey) -> None:
        self._api, self._request, self._presented = api, request, presented
        self.address, self.is_refusal = request.address, True

    def answer_known(self, data: bytes, start: int, end: int) -> bytes | None:
        info, address, _ = self._request
        request = _Received(info, address, end - start)
        return self._api.refuse_request(request, self._presented)

    def fail(self, error: Exception, size: int) -> bytes:
        return self._api.fail(error, self._request.info)
