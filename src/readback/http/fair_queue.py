"""Whose request is worked on next when many arrive at once.

A request that has to be parsed (another kind of head, an unknown key) costs several
times as much as a known one, and made-up keys may arrive by the thousand. So parsed
requests wait in a queue: a few are worked on in each round of the event loop, the
others in later rounds, in order of arrival. A known request never waits behind them; it
is answered as it is read. If a client has sent several at once, the first is answered,
and the others wait for a turn. When known requests keep the loop busy, a round takes
more from the queue, so that the others do not starve.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

# Turns that a round gives before the event loop looks for new bytes again …
PER_ROUND = 4
# … and one more per this many seconds that the loop has spent on other work meanwhile.
SECONDS_PER_EXTRA_REQUEST = 0.0001
# The limit of a round: while a long one runs, known requests wait, too.
MOST_EXTRA_REQUESTS = 500
# A turn is for one request, or for this many known ones that a client sends at once.
KNOWN_PER_TURN = 16


class FairQueue:
    """The queue of one listener."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        # Requests that this round may still take; at 0 the next round is scheduled.
        self._left = PER_ROUND
        self._is_scheduled = False
        self._round_ended_at = 0.0

    def enter(self, work: Callable[[], None]) -> bool:
        """Return whether to do the work now; if not, it is called later.

        Nobody overtakes what is waiting: in a round that may take many requests, a
        client that has sent many at once gets one turn and then waits again.
        """
        if self.has_room():
            return True
        self._waiting.append(work)
        return False

    def has_room(self) -> bool:
        """Return whether this round may take one more request."""
        if not self._left or self._waiting:
            return False
        self._left -= 1
        if not self._left:
            self._end_round()
        return True

    def _end_round(self) -> None:
        # The work of a round may itself enter the queue, and so end the round twice.
        if self._is_scheduled:
            return
        self._is_scheduled = True
        self._round_ended_at = monotonic()
        asyncio.get_running_loop().call_soon(self._begin_round)

    def _begin_round(self) -> None:
        self._is_scheduled = False
        elsewhere = monotonic() - self._round_ended_at
        extra = int(elsewhere / SECONDS_PER_EXTRA_REQUEST)
        self._left = PER_ROUND + min(extra, MOST_EXTRA_REQUESTS)
        try:
            while self._left and self._waiting:
                self._left -= 1
                self._waiting.popleft()()
        finally:
            # If the work raises an exception, which the event loop logs, others wait.
            if not self._left or self._waiting:
                self._end_round()
