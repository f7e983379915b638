"""The API as a handler: which endpoint a head asks for, and who is asking.

Decides everything that can be decided before a body is read, in the order of the
contract: path and method, key, rate. Nothing here decodes a body.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial

from readback.api.data.keyring import DatabaseUnavailable, Keyring, Record
from readback.api.endpoints.chat import Chat
from readback.api.endpoints.exchange import Exchange, Services, event
from readback.api.endpoints.models import ModelList
from readback.api.endpoints.request_info import (
    CHAT,
    MODELS,
    OTHER,
    PresentedKey,
    RequestInfo,
    presented_key,
    request_info,
)
from readback.api.http.handler import RepeatableRefusal, RequestOrigin
from readback.api.http.head import Head
from readback.api.shared.counters import WorkerCounters
from readback.api.shared.limiter import Limiter

# When the database or a connection is not to be had, this is worth waiting.
RETRY_SECONDS = 2

_EXCHANGES: dict[str, type[Exchange]] = {MODELS: ModelList, CHAT: Chat}
_UNKNOWN = "There is no such key: compare it with the one that the cabinet showed."
_ENDED = (
    "This key is revoked or expired, or its account is not active with a confirmed "
    "e-mail address."
)


class Api:
    """Serves the contract."""

    def __init__(
        self,
        services: Services,
        keyring: Keyring,
        failures: Limiter,
        counters: WorkerCounters,
        trusted_proxies: int,
    ) -> None:
        self._services = services
        self._keyring = keyring
        self._failures = failures
        self._counters = counters
        self._trusted_proxies = trusted_proxies

    def begin(
        self, head: Head, key: bytes, origin: RequestOrigin
    ) -> Exchange | RepeatableRefusal | bytes | None:
        question = request_info(head)
        claim = question.claim or presented_key(key)
        address = client_address(head, origin.address, self._trusted_proxies)
        if question.slip:
            return self._turn(partial(self._not_found, question, claim, address))
        if claim.flaw:
            return self._turn(partial(self._not_a_key, question, claim, address))
        record = self._keyring.find(claim.digest)
        if record is not None:
            return self._admit(question, record, address)
        if self._keyring.is_absent(claim.digest):
            return self._no_such_key(question, claim, address)
        identify = partial(self._identify, origin, question, address)
        self._keyring.wait(claim.digest, identify)
        return None

    def refuse(self, code: str, detail: str) -> bytes:
        return self._refuse(OTHER, code, detail)

    def _turn(self, refuse: Callable[[bytes, int], bytes]) -> RepeatableRefusal:
        return RepeatableRefusal(refuse(b"", 0), refuse)

    def _identify(
        self,
        origin: RequestOrigin,
        question: RequestInfo,
        address: str,
        found: Record | DatabaseUnavailable | None,
    ) -> None:
        """Go on with a request that has waited for its key to be looked up."""
        if found is None:
            origin.resume(self._refuse_key(question, address, _UNKNOWN))
        elif isinstance(found, Record):
            origin.resume(self._admit(question, found, address))
        else:
            detail = "The key cannot be looked up just now: the database is away."
            origin.resume(self._refuse(question.endpoint, "unavailable", detail))

    def _admit(
        self, question: RequestInfo, record: Record, address: str
    ) -> Exchange | bytes:
        exchange = _EXCHANGES[question.endpoint](
            self._services, record, question, address
        )
        if not record.accepted:
            limited = self._failed(question.endpoint, address)
            return limited or exchange.refuse("invalid_key", _ENDED)
        if not exchange.admit():
            wait = self._services.limiter.retry_after(record.slot)
            detail = f"This key has used up its rate; come back in {wait} s."
            return exchange.refuse("rate_limited", detail, wait)
        return exchange

    def _not_a_key(
        self,
        question: RequestInfo,
        claim: PresentedKey,
        address: str,
        data: bytes,
        start: int,
    ) -> bytes:
        return self._refuse_key(question, address, claim.flaw)

    def _no_such_key(
        self, question: RequestInfo, claim: PresentedKey, address: str
    ) -> RepeatableRefusal:
        return RepeatableRefusal(
            self._refuse_key(question, address, _UNKNOWN),
            partial(self._still_no_such_key, question, claim, address),
        )

    def _still_no_such_key(
        self,
        question: RequestInfo,
        claim: PresentedKey,
        address: str,
        data: bytes,
        start: int,
    ) -> bytes | None:
        if self._keyring.is_absent(claim.digest):
            return self._refuse_key(question, address, _UNKNOWN)
        return None

    def _refuse_key(self, question: RequestInfo, address: str, detail: str) -> bytes:
        limited = self._failed(question.endpoint, address)
        return limited or self._refuse(question.endpoint, "invalid_key", detail)

    def _failed(self, endpoint: str, address: str) -> bytes | None:
        """Count a failed authentication; refuse otherwise if there are too many."""
        slot = self._failures.slot(address.encode())
        if self._failures.take(slot, time.monotonic()):
            return None
        return self._too_many_failures(endpoint, slot)

    def _too_many_failures(self, endpoint: str, slot: int) -> bytes:
        wait = self._failures.retry_after(slot)
        detail = (
            "Too many requests from this address had a key that is not accepted; "
            f"come back in {wait} s."
        )
        return self._refuse(endpoint, "rate_limited", detail, wait)

    def _refuse(
        self, endpoint: str, code: str, detail: str, retry_after: int = 0
    ) -> bytes:
        """Refuse somebody who has no journal."""
        self._counters.add((endpoint, code))
        if code == "unavailable":
            retry_after = RETRY_SECONDS
        return self._services.replies.refusal(code, detail, retry_after)

    def _not_found(
        self,
        question: RequestInfo,
        claim: PresentedKey,
        address: str,
        data: bytes,
        start: int,
    ) -> bytes:
        answer = self._services.replies.refusal("not_found", question.slip)
        if claim.flaw:
            self._counters.add((OTHER, "not_found"))
        else:
            # Whose request it was is of interest only to the journal: later.
            asyncio.get_running_loop().call_soon(
                self._attribute, question, claim, address, len(answer)
            )
        return answer

    def _attribute(
        self,
        question: RequestInfo,
        claim: PresentedKey,
        address: str,
        answer_bytes: int,
    ) -> None:
        """Enter a 404 into the journal of the key it came with, if there is one."""

        def enter(found: Record | DatabaseUnavailable | None) -> None:
            if isinstance(found, Record):
                slip = question.slip
                missed = event(found.key_id, question, address, "not_found", slip)
                self._services.journal.note(
                    missed, question.request_bytes, answer_bytes
                )
            else:
                self._counters.add((OTHER, "not_found"))

        record = self._keyring.find(claim.digest)
        if record is not None or self._keyring.is_absent(claim.digest):
            enter(record)
        else:
            self._keyring.wait(claim.digest, enter)


def client_address(head: Head, peer: str, trusted_proxies: int) -> str:
    """Give the address of the client, believing only proxies that are ours."""
    if not trusted_proxies:
        return peer
    forwarded = b",".join(head.all(b"x-forwarded-for")).split(b",")
    if len(forwarded) < trusted_proxies:
        return peer
    written = forwarded[-trusted_proxies].strip(b" \t").decode("ascii", "replace")
    return written[:45] or peer
