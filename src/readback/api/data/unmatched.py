"""Unmatched requests: those without an accepted key, which no journal contains.

Pages show them to people on the same network who are waiting for their first request.
The event loop counts a limited number and drops the rest of a flood; `database.py`
writes the rows and deletes them after a few minutes. Neither bodies nor keys are kept.
"""

from collections import Counter

from readback.contract import UNMATCHED_ROWS

# How many different unmatched requests a worker writes per tick.
CAPACITY = 32

# Address, endpoint, code, detail and User-Agent. A plain tuple is faster than a named
# one; in a flood, every request needs one.
UnmatchedRequest = tuple[str, str, str, str, str]


class UnmatchedRequests:
    """The unmatched requests of one worker that have not been written yet."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._counts: dict[UnmatchedRequest, int] = {}
        self._kinds: Counter[str] = Counter()

    def count(
        self, address: str, endpoint: str, code: str, detail: str, user_agent: str
    ) -> None:
        request = (address, endpoint, code, detail, user_agent)
        counts = self._counts
        if request in counts:
            counts[request] += 1
        # A unix socket has no address. No single address may use up the capacity.
        elif (
            len(counts) < self._capacity
            and address
            and self._kinds[address] < UNMATCHED_ROWS
        ):
            self._kinds[address] += 1
            counts[request] = 1

    def fetch(self) -> dict[UnmatchedRequest, int]:
        counts = self._counts
        self._counts = {}
        self._kinds.clear()
        return counts
