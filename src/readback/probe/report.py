"""The report of a run: its results, and what a reader wants to know first.

The verdict is the first failure in the order of the steps, or else the first warning:
later findings are often its consequences.
"""

from __future__ import annotations

import platform
import re
import ssl
from dataclasses import dataclass
from datetime import datetime

from readback import __version__
from readback.probe.common.formatting import format_duration
from readback.probe.common.results import (
    FailureFamily,
    Fixer,
    Service,
    StepResult,
    Verdict,
)

_FIRST_SENTENCE = re.compile(r".*?\.(?= [A-Z]|$)")
SKIPPED = "skipped.failed"
ENDED = "skipped.ended"
INTERRUPTED = "probe.interrupted"


@dataclass(frozen=True)
class ProbeReport:
    base_url: str
    key: str
    """The masked key."""
    started: datetime
    seconds: float
    requests: int
    results: list[StepResult]
    """In the order of the steps."""
    key_sent_to: str | None = None
    """The origin that received the key."""
    service: Service | None = None
    endpoint_name: str = ""
    """The program behind an endpoint, if it names itself."""

    @property
    def failure(self) -> StepResult | None:
        return next(iter(self._with(Verdict.FAIL)), None)

    @property
    def decisive(self) -> StepResult | None:
        """The first failure, or else the first warning."""
        return self.failure or next(iter(self._with(Verdict.WARN)), None)

    @property
    def interrupted(self) -> StepResult | None:
        """The step during which the run was interrupted."""
        found = (one for one in self.results if one.diagnosis.id == INTERRUPTED)
        return next(found, None)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict; `skip` for a run that was interrupted before a finding."""
        if self.decisive:
            return self.decisive.diagnosis.verdict
        return Verdict.SKIP if self.interrupted else Verdict.OK

    @property
    def id(self) -> str:
        if self.decisive:
            return self.decisive.diagnosis.id
        return INTERRUPTED if self.interrupted else "ok"

    @property
    def family(self) -> FailureFamily:
        """The kind of failure, which is also the exit code."""
        if self.interrupted:
            return FailureFamily.INTERRUPTED
        return self.decisive.diagnosis.family if self.decisive else FailureFamily.NONE

    @property
    def sentence(self) -> str:
        """What is wrong, in one line."""
        if self.decisive is None and self.interrupted:
            title = self.interrupted.title
            return f"Interrupted at “{title}”; nothing failed until then."
        if self.decisive is None:
            return self._success
        diagnosis = self.decisive.diagnosis
        match = _FIRST_SENTENCE.match(diagnosis.sentence)
        summary = match[0] if match else diagnosis.sentence
        outcome = "A warning" if self.interrupted else "Works, with a warning"
        outcome = "Fails" if self.verdict == Verdict.FAIL else outcome
        finding = f"{outcome} at “{self.decisive.title}”: {summary}{self._others}"
        if self.interrupted is None:
            return finding
        return f"{finding} Interrupted at “{self.interrupted.title}”."

    @property
    def fixer(self) -> Fixer:
        return self.decisive.diagnosis.culprit.fixer if self.decisive else Fixer.NOBODY

    @property
    def next_step(self) -> str:
        return self.decisive.diagnosis.hint if self.decisive else ""

    @property
    def effort(self) -> str:
        requests = "1 request" if self.requests == 1 else f"{self.requests} requests"
        return f"{requests} in {format_duration(self.seconds)}"

    @property
    def key_use(self) -> str:
        if self.key_sent_to is None:
            return "The key was not sent."
        return f"The key ({self.key}) was sent only to {self.key_sent_to}."

    @property
    def tried(self) -> list[StepResult]:
        return [one for one in self.results if one.diagnosis.id not in (SKIPPED, ENDED)]

    @property
    def not_tried(self) -> list[str]:
        """The titles of the steps that did not run because of an earlier one."""
        tried = {one.title for one in self.tried}
        return [one.title for one in self.results if one.title not in tried]

    @property
    def _success(self) -> str:
        if self.service != Service.ENDPOINT:
            return "Works: every text was returned unchanged."
        if any(one.step == "chat" for one in self.results):
            return "Works: the model completed a text."
        return "Works as far as it was tested; --chat MODEL asks for a completion."

    @property
    def _others(self) -> str:
        """How many findings there are beside the decisive one."""
        failures, warnings = map(len, map(self._with, (Verdict.FAIL, Verdict.WARN)))
        others = [_count(warnings - 1, "more warning")]
        if failures:
            others = [_count(failures - 1, "more failure"), _count(warnings, "warning")]
        named = ", ".join(filter(None, others))
        return f" ({named}.)" if named else ""

    def _with(self, verdict: Verdict) -> list[StepResult]:
        return [one for one in self.results if one.diagnosis.verdict == verdict]


def environment_summary() -> str:
    """Return the versions that the probe ran with, for readers of the report."""
    return (
        f"readback {__version__}, Python {platform.python_version()}, "
        f"{openssl_version()}, {platform.system()} {platform.machine()}"
    )


def openssl_version() -> str:
    """Return the name and version of the TLS library, without its date."""
    return " ".join(ssl.OPENSSL_VERSION.split()[:2])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}" if number else ""
