"""Requests with rehearsal keys: each takes the next step of the key's pattern.

Real refusals that do not depend on the body come first and take no step. Otherwise, the
step applies before the body is read, whatever the body is: a failure is sent, or a wait
begins. A request that waits holds no thread and no lock.
"""

import asyncio
from contextlib import suppress

from readback.api.endpoints.exchange import Chat, Exchange, ModelList, is_explained
from readback.http.handler import Outcome, RequestOrigin
from readback.http.timing import Untimed
from readback.rehearsal import FAILURES, REHEARSED, RETRY_SECONDS, wait_seconds

# How many of a key's requests may wait at the same time; any more do not wait.
MAX_WAITING = 16
# The event loop itself keeps only weak references to tasks.
_waits: set[asyncio.Task[None]] = set()


class _Rehearsal(Exchange):
    """An exchange whose requests each take a step of the key's pattern."""

    def begin(self, size: int, origin: RequestOrigin) -> Outcome | None:
        outcome = super().begin(size, origin)
        if outcome is not self or self._limiter.is_used_up(self._record.slot):
            return outcome
        steps = self._record.row.rehearsal.split()
        place = self._limiter.take_step(self._record.slot) % len(steps)
        step = steps[place]
        if step in FAILURES:
            which = f"step {place + 1} of {len(steps)} of this key's pattern"
            return self._fail_as_asked(FAILURES[step], f"Rehearsed: {which}.", size)
        seconds = wait_seconds(step)
        if not seconds or self._record.waiting >= MAX_WAITING:
            return self
        self._record.waiting += 1
        wait = asyncio.create_task(self._wait(seconds, size, origin))
        _waits.add(wait)
        wait.add_done_callback(_waits.discard)
        return None

    def answer(self, body: bytes) -> bytes:
        return Untimed(super().answer(body))

    async def _wait(self, seconds: int, size: int, origin: RequestOrigin) -> None:
        """Continue after a wait, which ends early if the worker is told to stop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        self._record.waiting -= 1
        is_accepted = self._record.accepted  # the key may have been revoked
        origin.resume(self if is_accepted else Untimed(self._refuse_key(size)))

    def _fail_as_asked(self, code: str, detail: str, size: int) -> bytes:
        if not self._admit():
            return self._refuse_rate(size)
        wait = 0 if code == "internal_error" else RETRY_SECONDS
        explained = is_explained(self._info, self._record)
        answer = self._replies.refusal(code, detail, wait, explained)
        event = self._event(code, detail)._replace(code=REHEARSED)
        self._journal.open(event).count(self.sender, size, len(answer))
        return Untimed(answer)


class RehearsedChat(_Rehearsal, Chat):
    pass


class RehearsedModelList(_Rehearsal, ModelList):
    pass
