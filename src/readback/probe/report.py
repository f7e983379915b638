"""A run's report: its results, and what a reader wants to know first.

The most important failure decides the verdict and the exit code. A key or text in
danger comes first, then a failure that keeps the key from being accepted, then
corrected mistakes and other failures in the order of the steps, and last an error in
the probe itself. Without a failure, the most important warning decides.
"""

from __future__ import annotations

import platform
import ssl
from dataclasses import dataclass
from datetime import datetime
from string import Formatter

from readback import __version__
from readback.probe.common.catalogue import catalogue, current, has_tag, say
from readback.probe.common.results import (
    Diagnosis,
    Fact,
    FailureFamily,
    Fixer,
    Service,
    StepResult,
    Verdict,
)

SKIPPED = "skipped.failed"
INTERRUPTED = "probe.interrupted"


@dataclass(frozen=True)
class ProbeReport:
    base_url: str
    key: str
    started: datetime
    seconds: float
    requests: int
    results: list[StepResult]
    key_sent_to: str | None = None
    """Each origin that received the key, and any proxy that could read it."""
    service: Service | None = None
    url_source: str = ""
    """The source of the address if it was not entered: a variable or OPENAI_DEFAULT."""

    @property
    def failure(self) -> StepResult | None:
        return next(iter(self._with(Verdict.FAIL)), None)

    @property
    def decisive(self) -> StepResult | None:
        """The most important failure, else the `unknown` result, else a warning."""
        worst = (self.failure, self.unknown, *self._with(Verdict.WARN))
        return next(filter(None, worst), None)

    @property
    def unknown(self) -> StepResult | None:
        """The result that explains why a run without a failure is inconclusive."""
        skipped = self._with(Verdict.SKIP)
        unknown = (found for found in skipped if has_tag(found.diagnosis.id, "unknown"))
        return next(unknown, None)

    @property
    def interrupted(self) -> StepResult | None:
        return self._with_id(INTERRUPTED)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict; `skip` if the run was interrupted without a problem."""
        shown = self.decisive or self.interrupted
        return shown.diagnosis.verdict if shown else Verdict.OK

    @property
    def id(self) -> str:
        shown = self.decisive or self.interrupted
        return shown.diagnosis.id if shown else "ok"

    @property
    def family(self) -> FailureFamily:
        """The kind of failure, which is also the exit code."""
        if self.interrupted:
            return FailureFamily.INTERRUPTED
        if self.decisive and self.decisive is self.unknown:
            return FailureFamily.UNKNOWN
        return self.decisive.diagnosis.family if self.decisive else FailureFamily.NONE

    @property
    def sentence(self) -> str:
        if self.decisive is None and self.interrupted:
            return say("interrupted_without_failure", title=self.interrupted.title)
        if self.decisive is None:
            return self._success
        warning = "warning_at" if self.interrupted else "works_with_warning"
        words = {Verdict.FAIL: "fails_at", Verdict.SKIP: "not_known_at"}
        outcome = say(words.get(self.verdict, warning), title=self.decisive.title)
        said = [self._rehearsal, outcome, self.decisive.diagnosis.sentence]
        if self.interrupted:
            said.append(say("interrupted_at", title=self.interrupted.title))
        return " ".join(filter(None, said))

    @property
    def others(self) -> list[StepResult]:
        """The other problems, the most important first, each diagnosis only once."""
        found: dict[str, StepResult] = {}
        for result in (*self._with(Verdict.FAIL), *self._with(Verdict.WARN)):
            found.setdefault(result.diagnosis.id, result)
        return [result for name, result in found.items() if name != self.id]

    @property
    def notes(self) -> list[str]:
        """What some programs need although nothing is wrong."""
        found = (result.diagnosis.facts.get("note") for result in self.results)
        return [] if self.decisive else [str(note) for note in found if note]

    @property
    def working(self) -> list[str]:
        troubled = self._titles(Verdict.FAIL, Verdict.WARN)
        return [title for title in self._titles(Verdict.OK) if title not in troubled]

    @property
    def fixer(self) -> Fixer:
        return self.decisive.diagnosis.fixer if self.decisive else Fixer.NOBODY

    @property
    def hint(self) -> str:
        return self.decisive.diagnosis.hint if self.decisive else ""

    @property
    def next_step(self) -> str:
        """The next step for the user, who may not be an engineer."""
        if not has_tag(self.id, "engineer"):
            return self.hint
        return say("send_report", fixer=say(str(self.fixer)), hint=self.hint)

    @property
    def message(self) -> list[str]:
        """The message for whoever can fix the problem, unless that is the user."""
        if self.decisive is None or self.fixer in (Fixer.YOU, Fixer.NOBODY):
            return []
        diagnosis = self.decisive.diagnosis
        facts = [f"{name}: {fact}" for name, fact in evidence(diagnosis).items()]
        is_for_engineer = has_tag(diagnosis.id, "engineer")
        return [
            say("does_not_work", url=self.base_url)
            if self.failure
            else say("has_a_problem", url=self.base_url),
            f"{diagnosis.sentence} [{diagnosis.id}]",
            say("tested_at", time=f"{self.started:%Y-%m-%d %H:%M:%S}"),
            *([say("evidence", facts="; ".join(facts))] if facts else []),
            *(" ".join(line.split()) for line in diagnosis.details),
            self.hint if is_for_engineer else say("probe_advised", hint=self.hint),
            environment_summary(),
        ]

    @property
    def tried(self) -> list[StepResult]:
        return [result for result in self.results if result.diagnosis.id != SKIPPED]

    @property
    def not_tried(self) -> list[str]:
        """The titles of the steps that did not run or were inconclusive."""
        tried = self._titles(Verdict.FAIL, Verdict.WARN, Verdict.OK)
        return [title for title in self._titles(Verdict.SKIP) if title not in tried]

    @property
    def _success(self) -> str:
        if self._rehearsal:
            return self._rehearsal
        if self.service != Service.ENDPOINT:
            return say("works_unchanged")
        if any(result.step == "chat" for result in self.results):
            return say("works_completed")
        return say("works_as_tested")

    @property
    def _rehearsal(self) -> str:
        """The opening sentence if the server simulates failures on purpose, or ""."""
        known = self._with_id("key.rehearsal")
        return known.diagnosis.sentence if known else ""

    def _with_id(self, finding: str) -> StepResult | None:
        found = (result for result in self.results if result.diagnosis.id == finding)
        return next(found, None)

    def _titles(self, *verdicts: Verdict) -> list[str]:
        return list(dict.fromkeys(result.title for result in self._of(*verdicts)))

    def _with(self, verdict: Verdict) -> list[StepResult]:
        """Return the results with this verdict, the most important first."""
        return sorted(self._of(verdict), key=self._weight)

    def _of(self, *verdicts: Verdict) -> list[StepResult]:
        return [
            result for result in self.results if result.diagnosis.verdict in verdicts
        ]

    def _weight(self, result: StepResult) -> int:
        """Return a sort key: the more important the result, the smaller the number."""
        diagnosis = result.diagnosis
        is_failure = diagnosis.verdict == Verdict.FAIL
        is_cause = is_failure and has_tag(diagnosis.id, "explains")
        if not is_failure and diagnosis.id.startswith("sometimes."):
            return -1  # This has already happened; other warnings say what may happen.
        if has_tag(diagnosis.id, "serious") or is_cause:
            return 0
        if is_failure and result.step == self._stopped_at:
            return 1
        if diagnosis.family == FailureFamily.PROBE:
            return 4
        return 2

    @property
    def _stopped_at(self) -> Fact:
        """The id of the step whose failure keeps the key from being accepted."""
        for result in self.results:
            if result.step == "access":
                return result.diagnosis.facts.get("failed_step", result.step)
        return None


def environment_summary() -> str:
    return (
        f"readback {__version__}, Python {platform.python_version()}, "
        f"{openssl_version()}, {platform.system()} {platform.machine()}"
    )


def openssl_version() -> str:
    return " ".join(ssl.OPENSSL_VERSION.split()[:2])


# The facts that help an engineer, by their names in the JSON report.
EVIDENCE = (
    *("host", "port", "addresses", "proxy", "variable", "status"),
    *("location", "reason", "detail", "subject", "issuer", "since", "until", "sent"),
    *("received", "request_id", "note"),
)


def evidence(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the evidence that the diagnosis's sentence and hint do not mention."""
    sentence, hint = catalogue().findings[diagnosis.id].texts[current()]
    told = {name for _, name, _, _ in Formatter().parse(sentence + hint)}
    return {
        name: str(diagnosis.facts[name])
        for name in EVIDENCE
        if name not in told and diagnosis.facts.get(name) not in (None, "")
    }
