"""The report of a run: its results, and what a reader wants to know first.

The verdict is the failure that matters most, and decides the exit code: a key or a text
in danger, then what keeps the key from being accepted, then mistakes that the probe has
corrected and the other failures in the order of the steps, and last an error of its
own. Without a failure it is the warning that matters most. What several steps see is
one finding.
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
    Fact,
    FailureFamily,
    Fixer,
    Service,
    StepResult,
    Verdict,
)
from readback.probe.language import evidence, say

_FIRST_SENTENCE = re.compile(r".*?\.(?= [A-ZА-Я]|$)")
# Failures and warnings that tell of a key or a text in danger, or of a failure to come,
# and those that hardly matter; all others are in between.
SERIOUS = {
    *("address.is_key", "address.has_key", "address.contains_key", "echo.swapped"),
    *("address.unencrypted", "address.mixed_letters", "tls.expires_soon"),
    *("tls.intercepted_trusted", "tls.private_authority", "between.cached"),
    *("cabinet.differs", "clients.base_url_variable", "clients.base_url_missing"),
    *("clients.key_variable", "clients.headers_variable", "clients.netrc"),
    *("endpoint.no_models", "models.no_model", "stream.unfinished", "tcp.partly"),
    "probe.time_limit",
}
MINOR = {
    *("address.trailing_slash", "between.http_1_0", "between.request_id_removed"),
    *("between.id_changed", "between.fields_added", "between.fields_changed"),
    *("cabinet.unreachable", "latency.slow", "models.form", "models.unreadable"),
    *("reuse.closed", "clients.env_file", "proxies.case_differs", "run.differs"),
    *("http.headers_stripped", "limit.ignored", "parameter.ignored"),
}
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
        """The failure that matters most, or else such a warning."""
        return self.failure or next(iter(self._with(Verdict.WARN)), None)

    @property
    def findings(self) -> list[tuple[StepResult, list[str]]]:
        """What was tried, each cause once, with the other steps that see the same."""
        found: dict[object, tuple[StepResult, list[str]]] = {}
        for place, one in enumerate(self.tried):
            is_cause = one.diagnosis.verdict in (Verdict.FAIL, Verdict.WARN)
            key = one.diagnosis.id if is_cause else place
            if key in found:
                found[key][1].append(one.title)
            else:
                found[key] = one, []
        return list(found.values())

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
            text = "Interrupted at “{title}”; nothing failed until then."
            return say(text, title=self.interrupted.title)
        if self.decisive is None:
            return self._success
        diagnosis = self.decisive.diagnosis
        match = _FIRST_SENTENCE.match(diagnosis.sentence)
        summary = match[0] if match else diagnosis.sentence
        outcome = say("Fails at “{title}”:", title=self.decisive.title)
        if self.verdict != Verdict.FAIL and self.interrupted:
            outcome = say("A warning at “{title}”:", title=self.decisive.title)
        elif self.verdict != Verdict.FAIL:
            title = self.decisive.title
            outcome = say("Works, with a warning at “{title}”:", title=title)
        finding = f"{outcome} {summary}{self._others}"
        if self.interrupted is None:
            return finding
        end = say("Interrupted at “{title}”.", title=self.interrupted.title)
        return f"{finding} {end}"

    @property
    def fixer(self) -> Fixer:
        return self.decisive.diagnosis.culprit.fixer if self.decisive else Fixer.NOBODY

    @property
    def hint(self) -> str:
        """What has to be done, whoever does it."""
        return self.decisive.diagnosis.hint if self.decisive else ""

    @property
    def next_step(self) -> str:
        """What the person can do, who may not be an engineer."""
        if self.decisive is None or not self.decisive.diagnosis.takes_engineer:
            return self.hint
        text = (
            "Send this report to your network's administrator or to the operator of "
            "the service. It takes an engineer: {hint}"
        )
        return say(text, hint=self.hint)

    @property
    def message(self) -> list[str]:
        """What to send to the person who can fix it, if that is somebody else."""
        if self.decisive is None or self.fixer in (Fixer.YOU, Fixer.NOBODY):
            return []
        one = self.decisive.diagnosis
        facts = [f"{name}: {fact}" for name, fact in evidence(one).items()]
        return [
            say("A connection to {url} does not work.", url=say(self.base_url))
            if self.failure
            else say("A connection to {url} has a problem.", url=say(self.base_url)),
            f"{one.sentence} [{one.id}]",
            say("Tested at {time} UTC.", time=f"{self.started:%Y-%m-%d %H:%M:%S}"),
            *([say("Evidence: {facts}", facts="; ".join(facts))] if facts else []),
            *(" ".join(line.split()) for line in one.details),
            self.hint
            if one.takes_engineer
            else say("The probe advised: {hint}", hint=self.hint),
            environment_summary(),
        ]

    @property
    def effort(self) -> str:
        time = say(format_duration(self.seconds))
        if self.requests == 1:
            return say("1 request in {time}", time=time)
        return say("{count} requests in {time}", count=self.requests, time=time)

    @property
    def key_use(self) -> str:
        if self.key_sent_to is None:
            return say("The key was not sent.")
        facts = {"key": say(self.key), "host": say(self.key_sent_to)}
        return say("The key ({key}) was sent only to {host}.", **facts)

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
            return say("Works: every text was returned unchanged.")
        if any(one.step == "chat" for one in self.results):
            return say("Works: the model completed a text.")
        return say("Works as far as it was tested; --chat MODEL asks for a completion.")

    @property
    def _others(self) -> str:
        """How many causes there are beside the decisive one."""
        failures, warnings = (
            len({one.diagnosis.id for one in self._with(verdict)})
            for verdict in (Verdict.FAIL, Verdict.WARN)
        )
        if failures:
            others = [
                _count(failures - 1, "1 more failure", "{count} more failures"),
                _count(warnings, "1 warning", "{count} warnings"),
            ]
        else:
            others = [_count(warnings - 1, "1 more warning", "{count} more warnings")]
        named = ", ".join(filter(None, others))
        return f" ({named}.)" if named else ""

    def _with(self, verdict: Verdict) -> list[StepResult]:
        """Return the results with this verdict, those that matter most first."""
        found = (one for one in self.results if one.diagnosis.verdict == verdict)
        return sorted(found, key=self._weight)

    def _weight(self, result: StepResult) -> int:
        """Return a number that is smaller for a result that matters more."""
        one = result.diagnosis
        if one.id in SERIOUS:
            return 0
        if one.verdict == Verdict.FAIL and result.step == self._stopped_at:
            return 1
        return 4 if one.family == FailureFamily.PROBE else 2 + (one.id in MINOR)

    @property
    def _stopped_at(self) -> Fact:
        """The id of the step whose failure keeps the key from being accepted."""
        for one in self.results:
            if one.step == "access":
                return one.diagnosis.facts.get("failed_step", one.step)
        return None


def environment_summary() -> str:
    """Return the versions that the probe ran with, for readers of the report."""
    return (
        f"readback {__version__}, Python {platform.python_version()}, "
        f"{openssl_version()}, {platform.system()} {platform.machine()}"
    )


def openssl_version() -> str:
    """Return the name and version of the TLS library, without its date."""
    return " ".join(ssl.OPENSSL_VERSION.split()[:2])


def _count(number: int, one: str, several: str) -> str:
    if not number:
        return ""
    return say(one) if number == 1 else say(several, count=number)
