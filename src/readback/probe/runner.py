"""Runs the steps in order and skips those that an earlier failure rules out."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import PurePath
from typing import Protocol

from readback.probe import diagnoses
from readback.probe.common.background import BackgroundCall
from readback.probe.common.results import Diagnosis, ProbeError, StepResult, Verdict
from readback.probe.diagnoses import diagnose, redacted
from readback.probe.report import ENDED, INTERRUPTED, SKIPPED, ProbeReport
from readback.probe.service import mixtures, steadiness
from readback.probe.transport.context import ProbeContext, Step

# A run takes at most a minute, even if every request hangs, with the time to start the
# program and to write its report.
_REPORT_SECONDS = 3.0
SHORTEST_TIME_LIMIT = 60.0 - _REPORT_SECONDS
TIMEOUTS_PER_RUN = 6
# Other steps run beside a pause that is not longer.
_SHORT_PAUSE = 10.0
_TICK_SECONDS = 0.1
# The steps after all that are about the service.
_LOCAL = ("clients", "run")


class Progress(Protocol):
    """Shows how far a run has come."""

    def show(self, step: str, done: int) -> None:
        """Show the running step and how many steps are done."""

    def clear(self) -> None:
        """Remove what is shown."""


class ProbeRun:
    """One run: the results so far, and which steps a failure has blocked.

    Every step has a thread of its own, and the main thread only waits. So Ctrl-C never
    strikes in the middle of a step, and no step can outlast the run.
    """

    def __init__(self, context: ProbeContext, progress: Progress) -> None:
        self._context = context
        self._progress = progress
        self._steps: list[Step] = []
        """The steps that have been started, in their order."""
        self._rest: Iterator[Step] = iter(())
        self._found: dict[str, list[StepResult]] = {}
        """The results of each step that has ended, by its id."""
        self._calls: dict[str, BackgroundCall[list[Diagnosis]]] = {}
        self._blocked_by: dict[str, Step] = {}
        """The failed step, by the id of each step that it blocks."""
        self._current: Step | None = None
        self._started = datetime.now(timezone.utc)
        self._started_at = time.monotonic()

    def run(self, steps: Iterable[Step]) -> ProbeReport:
        """Run the steps; end early if Ctrl-C is pressed or the run takes too long."""
        self._context.deadline = self._started_at + self._limit
        self._rest = (step for step in steps if step.applies(self._context))
        try:
            for step in self._rest:
                self._start(step)
                if not step.in_background:
                    self._finish(step)
            for step in self._steps:
                self._finish(step)
            steadiness.confirm_loss(self._context)
        except KeyboardInterrupt:
            self._end(diagnose(INTERRUPTED))
        except TimeoutError:
            self._end(None)
        finally:
            self._progress.clear()
        self._context.close()
        shown = self._context.redactor.text
        sent_to = self._context.key_sent_to
        return ProbeReport(
            base_url=shown(self._context.shown_url),
            key=self._context.shown_key,
            started=self._started,
            seconds=time.monotonic() - self._started_at,
            requests=self._context.budget.spent,
            results=self._results(),
            key_sent_to=shown(sent_to) if sent_to else None,
            service=self._context.service,
            endpoint_name=shown(self._context.endpoint_name),
        )

    def _results(self) -> list[StepResult]:
        """Return what the steps found, and how steady the path was for all of them."""
        found = [
            self._with_final_address(one)
            for step in self._steps
            for one in self._found[step.id]
        ]
        if "route" not in vars(self._context):
            return found
        budget, steady = self._context.budget, mixtures.judge(self._context)
        if budget.is_unsteady or budget.is_rate_limited:
            unknown = diagnose("skipped.unsteady")
            found = [
                one._replace(diagnosis=unknown) if mixtures.is_comparison(one) else one
                for one in found
            ]
        if steady:
            steady = redacted(steady, self._context.redactor)
            local = (place for place, one in enumerate(found) if one.step in _LOCAL)
            at = next(local, len(found))
            found.insert(at, StepResult("steady", "steadiness", steady))
        return found

    def _with_final_address(self, result: StepResult) -> StepResult:
        """Let the advice of an early step name the address that a later one found."""
        facts, final = dict(result.diagnosis.facts), self._context.shown_url
        is_advice = result.diagnosis.verdict in (Verdict.FAIL, Verdict.WARN)
        if not is_advice or facts.pop("base_url", final) == final:
            return result
        advice = diagnose(result.diagnosis.id, figure="", base_url=final, **facts)
        redactor = self._context.redactor
        return result._replace(diagnosis=redacted(advice, redactor))

    @property
    def _limit(self) -> float:
        hanging = TIMEOUTS_PER_RUN * self._context.timeout
        pause = self._context.idle_seconds
        longer = pause if pause > _SHORT_PAUSE else 0.0
        return max(SHORTEST_TIME_LIMIT, hanging - _REPORT_SECONDS) + longer

    def _start(self, step: Step) -> None:
        self._steps.append(step)
        for needed in self._steps:
            if needed.id in step.needs:
                self._finish(needed)
        self._current = step
        reasons = (self._blocked_by.get(need) for need in step.needs)
        if failed := next(filter(None, reasons), None):
            self._blocked_by[step.id] = failed
            facts = {"reason": failed.title, "failed_step": failed.id}
            self._keep(step, [diagnose(SKIPPED, **facts)])
        else:
            self._calls[step.id] = BackgroundCall(lambda: self._diagnose(step))

    def _finish(self, step: Step) -> None:
        """Wait for a step and keep its results; `TimeoutError` if the run is late."""
        if step.id in self._found:
            return
        self._current = step
        call = self._calls[step.id]
        deadline = self._started_at + self._limit
        # On Windows, Ctrl-C is only noticed when a wait ends.
        while not call.wait(_TICK_SECONDS):
            with suppress(Exception):  # Progress is not worth the report.
                self._progress.show(step.title, len(self._found))
            if time.monotonic() > deadline:
                raise TimeoutError
        self._keep(step, call.result())

    def _end(self, diagnosis: Diagnosis | None) -> None:
        """Keep what has been found; the step that the run waited for gets this.

        Without a diagnosis, the run has taken too long.
        """
        self._steps += self._rest
        for step in self._steps:
            call = self._calls.get(step.id)
            if step.id not in self._found and call and call.is_done:
                self._keep(step, call.result())
        unfinished = [step for step in self._steps if step.id not in self._found]
        # The step may have ended in the same moment; then the next one was waited for.
        waited = self._current if self._current in unfinished else None
        titles = ", ".join(step.title for step in unfinished)
        facts = {"limit": f"{self._limit:g}", "left_out": titles}
        is_late, failures = diagnosis is None, self._context.failures
        if diagnosis is None:
            id = "probe.time_limit" if self._is_key_accepted else "http.unfinished"
            diagnosis = diagnose(id, **facts)
        for step in unfinished:
            waited = waited or step
            skipped = diagnose(ENDED, reason=waited.title)
            found = diagnosis if step is waited else skipped
            # It has failed once, and there is no time to see whether it does so again.
            if is_late and step.id in failures:
                found = diagnoses.from_error(failures[step.id])
            self._keep(step, [found])

    @property
    def _is_key_accepted(self) -> bool:
        found = self._found.get("access", [])
        return any(one.diagnosis.verdict != Verdict.SKIP for one in found)

    def _keep(self, step: Step, diagnoses: list[Diagnosis]) -> None:
        redactor = self._context.redactor
        self._found[step.id] = [
            StepResult(step.id, step.title, redacted(one, redactor))
            for one in diagnoses
        ]

    def _diagnose(self, step: Step) -> list[Diagnosis]:
        # A returned diagnosis lets later steps run, even if it is a failure (the probe
        # has corrected the mistake); a raised error blocks them.
        try:
            return steadiness.settle(self._context, step)
        except ProbeError as error:
            self._blocked_by[step.id] = step
            return [diagnoses.from_error(error)]
        except Exception as error:  # A mistake of the probe must not end the run.
            self._blocked_by[step.id] = step
            return [diagnose("probe.unexpected", reason=origin(error))]


def origin(error: Exception) -> str:
    """Return the type and the place of an error; its message may contain secrets."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"


def run_probe(
    context: ProbeContext, steps: Iterable[Step], progress: Progress
) -> ProbeReport:
    """Run all steps, show the progress, and return the report."""
    return ProbeRun(context, progress).run(steps)
