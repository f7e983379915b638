"""The report of a finished run: its results and the sentence that sums them up."""

from __future__ import annotations

import platform
import re
import ssl
from dataclasses import dataclass
from datetime import datetime

from readback import __version__
from readback.probe.formatting import format_duration
from readback.probe.results import FailureFamily, Service, StepResult, Verdict

_FIRST_SENTENCE = re.compile(r".*?\.(?= [A-Z]|$)")
SKIPPED = "skipped.failed"


@dataclass(frozen=True)
class ProbeReport:
    base_url: str
    key: str
    """The masked key."""
    started: datetime
    seconds: float
    requests: int
    results: list[StepResult]
    key_sent_to: str = "not sent"
    """Scheme and host of the addresses that got the key."""
    service: Service | None = None
    endpoint_name: str = ""
    """The program behind an endpoint, if it names itself."""

    @property
    def decisive(self) -> StepResult | None:
        """The first failure, or else the first warning."""
        return next(iter(self._with(Verdict.FAIL) + self._with(Verdict.WARN)), None)

    @property
    def verdict(self) -> Verdict:
        return self.decisive.diagnosis.verdict if self.decisive else Verdict.OK

    @property
    def id(self) -> str:
        return self.decisive.diagnosis.id if self.decisive else "ok"

    @property
    def family(self) -> FailureFamily:
        return self.decisive.diagnosis.family if self.decisive else FailureFamily.NONE

    @property
    def sentence(self) -> str:
        if self.decisive is None:
            return self._success
        diagnosis = self.decisive.diagnosis
        is_failure = diagnosis.verdict == Verdict.FAIL
        outcome = "Fails" if is_failure else "Works, with a warning"
        match = _FIRST_SENTENCE.match(diagnosis.sentence)
        summary = match[0] if match else diagnosis.sentence
        return f"{outcome} at “{self.decisive.title}”: {summary}{self._others}"

    @property
    def effort(self) -> str:
        """The number of requests and the time taken."""
        requests = "1 request" if self.requests == 1 else f"{self.requests} requests"
        return f"{requests} in {format_duration(self.seconds)}"

    @property
    def tried(self) -> list[StepResult]:
        return [result for result in self.results if result.diagnosis.id != SKIPPED]

    @property
    def not_tried(self) -> list[str]:
        """The titles of the steps that were skipped because an earlier one failed."""
        return [
            result.title for result in self.results if result.diagnosis.id == SKIPPED
        ]

    @property
    def _success(self) -> str:
        if self.service != Service.ENDPOINT:
            return "Works: every text was returned unchanged."
        steps = [result.step for result in self.results]
        if "chat" in steps:
            return "Works: the model completed a text."
        return "Works as far as it was tested; --chat MODEL asks for a completion."

    @property
    def _others(self) -> str:
        """How many other steps have the verdict of the decisive one."""
        count = len(self._with(self.verdict)) - 1
        if not count:
            return ""
        noun = "failure" if self.verdict == Verdict.FAIL else "warning"
        return f" ({count} more {noun}{'s' if count > 1 else ''}.)"

    def _with(self, verdict: Verdict) -> list[StepResult]:
        return [
            result for result in self.results if result.diagnosis.verdict == verdict
        ]


def environment_summary() -> str:
    """Return the versions that the probe ran with, for readers of the report."""
    return (
        f"readback {__version__}, Python {platform.python_version()}, "
        f"{ssl.OPENSSL_VERSION.rpartition(' ')[0].rsplit(' ', 2)[0]}, "
        f"{platform.system()} {platform.machine()}"
    )
