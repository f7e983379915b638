"""Unmatched requests: those without an accepted key, which are in no journal.

A person who waits for a first request sees those from their own network. The event loop
counts a bounded number of them, and drops new ones in a flood; `database.py` writes the
rows, and deletes them after a few minutes. No text or key is kept.
"""

from collections import Counter
from typing import NamedTuple

from readback.contract import UNMATCHED_ROWS

# How many distinct unmatched requests a worker writes per tick.
CAPACITY = 32


class UnmatchedEvent(NamedTuple):
    """One kind of request without an accepted key, from one address."""

    address: str
    endpoint: str
    code: str
    detail: str
    user_agent: str


class UnmatchedRequests:
    """The unmatched requests of one worker that have not been written yet."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._counts: dict[tuple[str, str, str, str, str], int] = {}
        self._kinds: Counter[str] = Counter()

    def count(
        self, address: str, endpoint: str, code: str, detail: str, user_agent: str
    ) -> None:
        # In a flood, this runs for each request, and a plain tuple needs no call.
        request = (address, endpoint, code, detail, user_agent)
        counts = self._counts
        if request in counts:
            counts[request] += 1
        # A unix socket has no address. One address cannot use up the capacity.
        elif (
            len(counts) < self._capacity
            and address
            and self._kinds[address] < UNMATCHED_ROWS
        ):
            self._kinds[address] += 1
            counts[request] = 1

    def fetch(self) -> dict[UnmatchedEvent, int]:
        """Return how often each request has occurred since the last call."""
        counts = self._counts
        self._counts = {}
        self._kinds.clear()
        return {UnmatchedEvent(*request): n for request, n in counts.items()}
