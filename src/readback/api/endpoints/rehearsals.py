"""Requests with rehearsal keys: each takes the next step of the key's pattern.

Real refusals that do not depend on the body come first and take no step. Otherwise, the
step applies before the body is read, whatever the body is: a failure is sent, or a wait
begins.
"""

from functools import partial

from readback.api.endpoints.exchange import Chat, Exchange, ModelList, is_explained
from readback.http.handler import Outcome, RequestOrigin
from readback.http.timing import Untimed
from readback.rehearsal import FAILURES, REHEARSED, RETRY_SECONDS, wait_seconds


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
        go_on = partial(self._go_on, size, origin)
        if seconds and self._delays.add(self._record, seconds, go_on):
            return None
        return self

    def answer(self, body: bytes) -> bytes:
        return Untimed(super().answer(body))

    def _go_on(self, size: int, origin: RequestOrigin) -> None:
        """Continue after a wait, during which the key may have been revoked."""
        is_accepted = self._record.accepted
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
