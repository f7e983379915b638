"""Whose request is worked on when many come at once.

A request that needs thought (a first one, another head, a key that nobody knows) costs
several times what a repeated one does, and made-up keys may come by the thousand. So
those take turns: a few in each round of the event loop, the others in the next ones,
in the order in which they came. Who is known does not wait behind them: a repetition
is answered as it is read. And when those who are known keep the loop busy, a round has
more turns, so that the others do not wait for ever.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

# So many are worked on before the event loop looks for new bytes again …
AT_ONCE = 4
# … and one more for each time this long that it has spent on everybody else.
SECONDS_FOR_ONE_MORE = 0.0001


class FairQueue:
    """The queue of one listener."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        # None left means that the next round is due.
        self._left = AT_ONCE
        self._due_since = 0.0

    def take(self, work: Callable[[], None]) -> bool:
        """Tell whether it is one's turn at once; if not, the work is called then."""
        if not self._left:
            self._waiting.append(work)
            return False
        self._left -= 1
        if not self._left:
            self._end_round()
        return True

    def _end_round(self) -> None:
        self._due_since = monotonic()
        asyncio.get_running_loop().call_soon(self._begin_round)

    def _begin_round(self) -> None:
        others = monotonic() - self._due_since
        self._left = AT_ONCE + int(others / SECONDS_FOR_ONE_MORE)
        while self._left and self._waiting:
            self._left -= 1
            self._waiting.popleft()()
        if not self._left:
            self._end_round()
