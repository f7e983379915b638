"""Whose request is worked on when many come at once.

A request that needs thought (a first one, another head, a key that nobody knows) costs
several times what a repeated one does, and made-up keys may come by the thousand. So
those take turns: a few in each round of the event loop, the others in the next ones,
in the order in which they came. Who is known does not wait behind them: a repetition
is answered as it is read.
"""

import asyncio
from collections import deque
from collections.abc import Callable

# So many are worked on before the event loop looks for new bytes again.
AT_ONCE = 4


class Turns:
    """The queue of one listener."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        # None left means that the next round is due.
        self._left = AT_ONCE

    def take(self, work: Callable[[], None]) -> bool:
        """Tell whether it is one's turn at once; if not, the work is called then."""
        if not self._left:
            self._waiting.append(work)
            return False
        self._left -= 1
        if not self._left:
            asyncio.get_running_loop().call_soon(self._next_round)
        return True

    def _next_round(self) -> None:
        self._left = AT_ONCE
        while self._left and self._waiting:
            self._left -= 1
            self._waiting.popleft()()
        if not self._left:
            asyncio.get_running_loop().call_soon(self._next_round)
