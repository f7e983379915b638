"""The API as a handler: finds a request's endpoint and key.

The decisions before the body is read are made here, in the contract's order: path and
method, then key.
"""

import logging
from dataclasses import dataclass
from functools import partial

from readback import keys, logs
from readback.api.data.keyring import Found, Keyring, Record
from readback.api.endpoints.exchange import (
    Chat,
    Exchange,
    ModelList,
    Services,
    is_explained,
    journal_event,
)
from readback.api.endpoints.near_misses import PROBE, NearMiss
from readback.api.endpoints.presented_key import explain_invalid
from readback.api.endpoints.rehearsals import RehearsedChat, RehearsedModelList
from readback.api.endpoints.request_info import RequestInfo, describe
from readback.client_address import address_in, forwarded_entry
from readback.contract import CHAT, MODELS, OTHER, REHEARSAL_KEY
from readback.http.handler import Outcome, RequestOrigin
from readback.http.head import MALFORMED_REQUEST, Head
from readback.http.meaning import Understood
from readback.processes.shared_counters import WorkerCounters

log = logging.getLogger("readback.api")

# Sent as Retry-After if the database is unavailable or there are too many connections.
RETRY_SECONDS = 2
# How many programs are remembered per key. Most keys are used by one.
_MAX_EXCHANGES = 4
_EXCHANGES: dict[str, type[Exchange]] = {MODELS: ModelList, CHAT: Chat}
_REHEARSALS = {MODELS: RehearsedModelList, CHAT: RehearsedChat}
_UNKNOWN_KEY = "This key does not exist; compare it with the one shown in the cabinet."
_NOT_LOOKED_UP = (
    "The key could not be looked up because the database is unavailable; this does not "
    "mean that the key is wrong."
)


@dataclass(eq=False)
class Api:
    """Implements the contract."""

    _services: Services
    _keyring: Keyring
    _counters: WorkerCounters
    _trusted_proxies: int

    def describe(self, head: Head) -> RequestInfo:
        return describe(head)

    def begin(
        self, request: Understood[RequestInfo], origin: RequestOrigin
    ) -> Outcome | None:
        meaning, key, _, _ = request
        digest = keys.digest(key)
        record = self._keyring.find(digest)
        if record is None and self._may_exist(meaning.info, key, digest):
            self._keyring.wait(digest, partial(self._go_on, request, origin))
            return None
        return self._decide(request, origin, record)

    def refuse(self, code: str, detail: str, address: str = "") -> bytes:
        # Behind a proxy, the address would be the proxy's.
        if code == MALFORMED_REQUEST and not self._trusted_proxies:
            self._services.unmatched.count(address, OTHER, code, detail, "")
        retry_after = RETRY_SECONDS if code == "unavailable" else 0
        self._counters.add((OTHER, code))
        return self._services.replies.refusal(code, detail, retry_after)

    def fail(self, error: Exception, info: RequestInfo | None) -> bytes:
        self._counters.add((info.endpoint if info else OTHER, "internal_error"))
        replies = self._services.replies
        request_id = replies.new_id()
        description = logs.describe_error(error)
        log.error("internal error, X-Request-Id %s: %s", request_id, description)
        return replies.refusal("internal_error", request_id=request_id)

    def _may_exist(self, info: RequestInfo, key: bytes, digest: bytes) -> bool:
        if info.no_key_detail or explain_invalid(key):
            return False
        return not self._keyring.is_absent(digest)

    def _go_on(
        self, request: Understood[RequestInfo], origin: RequestOrigin, found: Found
    ) -> None:
        outcome: Outcome | None
        try:
            outcome = self._decide(request, origin, found)
        except Exception as error:
            # Otherwise the connection would wait forever.
            meaning, *_ = request
            outcome = self.fail(error, meaning.info)
        if outcome is not None:
            origin.resume(outcome)

    def _decide(
        self, request: Understood[RequestInfo], origin: RequestOrigin, found: Found
    ) -> Outcome | None:
        meaning, key, forwarded, size = request
        info = meaning.info
        sender = self._sender(forwarded, origin)
        miss = info.near_miss
        if isinstance(found, Record) and not miss:
            exchange: Exchange = found.exchanges.get(info) or self._exchange(
                info, found
            )
            exchange.sender = sender
            return exchange.begin(size, origin)
        if miss:
            return self._not_found(info, miss, found, sender, size)
        if found is None:
            return self._refuse_key(info, key, sender)
        return self._refuse("unavailable", _NOT_LOOKED_UP, info, RETRY_SECONDS)

    def _sender(self, forwarded: bytes, origin: RequestOrigin) -> str:
        """Return the client's entry in X-Forwarded-For, or the connection's address.

        The entry is parsed only where its address is needed.
        """
        if not self._trusted_proxies:
            return origin.address
        header = forwarded.decode("ascii", "replace")
        entry = forwarded_entry(header, self._trusted_proxies)
        return origin.address if entry is None else entry

    def _exchange(self, info: RequestInfo, record: Record) -> Exchange:
        if len(record.exchanges) >= _MAX_EXCHANGES:
            del record.exchanges[next(iter(record.exchanges))]
        kinds = _REHEARSALS if record.row.rehearsal else _EXCHANGES
        exchange = kinds[info.endpoint](self._services, record, info)
        record.exchanges[info] = exchange
        return exchange

    def _not_found(
        self, info: RequestInfo, miss: NearMiss, found: Found, sender: str, size: int
    ) -> bytes:
        """Answer 404; note this in the journal if the request has an accepted key."""
        code = "not_found"
        detail = miss.sentence
        if not isinstance(found, Record) or not found.accepted:
            # The probe sends these on purpose, so they are not shown as unmatched.
            if miss != PROBE:
                agent = info.user_agent
                address = address_in(sender)
                self._services.unmatched.count(address, OTHER, code, detail, agent)
            return self._refuse(code, detail, info)
        if pattern := found.row.rehearsal:
            detail = f"{detail} {REHEARSAL_KEY} {pattern}."
        explained = is_explained(info, found)
        answer = self._services.replies.refusal(code, detail, explained=explained)
        if miss == PROBE:
            self._counters.add((OTHER, code))
            return answer
        event = journal_event(found.digest, info, code, detail, miss.difference)
        self._services.journal.open(event).count(sender, size, len(answer))
        return answer

    def _refuse_key(self, info: RequestInfo, key: bytes, sender: str) -> bytes:
        detail = info.no_key_detail or explain_invalid(key) or _UNKNOWN_KEY
        self._services.unmatched.count(
            address_in(sender), info.endpoint, "invalid_key", detail, info.user_agent
        )
        return self._refuse("invalid_key", detail, info)

    def _refuse(
        self, code: str, detail: str, info: RequestInfo, retry_after: int = 0
    ) -> bytes:
        self._counters.add((info.endpoint, code))
        return self._services.replies.refusal(
            code, detail, retry_after, info.asks_to_explain
        )
