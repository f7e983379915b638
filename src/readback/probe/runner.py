"""Runs the steps in order and skips those that an earlier failure rules out."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from readback.probe import (
    access,
    base_url,
    cabinet,
    contract_checks,
    diagnoses,
    dns,
    echo,
    latency,
    library,
    proxies,
    recognition,
    secret,
    tcp,
    tls,
)
from readback.probe.context import ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.output import Display
from readback.probe.report import SKIPPED, ProbeReport
from readback.probe.results import Diagnosis, ProbeError, StepResult


class Step(NamedTuple):
    id: str
    title: str
    run: Callable[[ProbeContext], Diagnosis]
    needs: tuple[str, ...] = ()
    """The ids of the steps that must succeed before this one can run."""


def _address(context: ProbeContext) -> Diagnosis:
    diagnosis, context.base_url = base_url.check(context.entered_url)
    return diagnosis


def _key(context: ProbeContext) -> Diagnosis:
    diagnosis, context.key = secret.check(context.secret)
    return diagnosis


def _proxies(context: ProbeContext) -> Diagnosis:
    diagnosis, context.route = proxies.check(context.base_url)
    return diagnosis


def _dns(context: ProbeContext) -> Diagnosis:
    diagnosis, context.ip_addresses = dns.check(context.route, context.timeout)
    return diagnosis


def _tcp(context: ProbeContext) -> Diagnosis:
    return tcp.check(context.route, context.ip_addresses, context.timeout)


def _tls(context: ProbeContext) -> Diagnosis:
    stores = tls.certificate_stores()
    if not context.base_url.is_encrypted:
        # The cabinet may use https even if the API does not.
        context.trusted = stores[0]
        return diagnose("tls.none")
    diagnosis, context.trusted = tls.check(context, stores)
    return diagnosis


def _echo(text: str) -> Callable[[ProbeContext], Diagnosis]:
    return lambda context: echo.check(context, text)


STEPS = (
    Step("address", "address", _address),
    Step("key", "key", _key),
    Step("proxies", "proxies", _proxies, ("address",)),
    Step("dns", "DNS", _dns, ("proxies",)),
    Step("tcp", "TCP", _tcp, ("dns",)),
    Step("tls", "TLS", _tls, ("tcp",)),
    Step("http", "HTTP", recognition.check, ("tls",)),
    Step("access", "key accepted", access.check, ("http", "key")),
    Step("models", "model list", contract_checks.check_models, ("access",)),
    Step("echo.ascii", "echo: ASCII", _echo(echo.ASCII), ("access",)),
    Step("echo.cyrillic", "echo: Cyrillic", _echo(echo.CYRILLIC), ("access",)),
    Step("echo.marks", "echo: emoji, marks", _echo(echo.MARKS), ("access",)),
    Step("echo.controls", "echo: controls", _echo(echo.CONTROLS), ("access",)),
    Step("echo.full", "echo: 8192 bytes", _echo(echo.largest_text()), ("access",)),
    Step("limit", "size limit", contract_checks.check_limit, ("access",)),
    Step("parameter", "URL parameter", contract_checks.check_parameter, ("access",)),
    Step("reuse", "connection reuse", contract_checks.check_reuse, ("access",)),
    Step("cabinet", "cabinet", cabinet.check, ("http",)),
    Step("latency", "latency", latency.check, ("echo.ascii",)),
)
OPENAI = Step("openai", "openai", library.check, ("echo.marks",))


class ProbeRun:
    """One run: the results so far, and which steps a failure has blocked."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._results: list[StepResult] = []
        self._blocked_by: dict[str, str] = {}
        """The title of the failed step, by the id of each step that it blocks."""
        self._started = datetime.now(UTC)
        self._started_at = time.monotonic()

    def run(self, step: Step) -> StepResult:
        """Run one step; the steps that it needs have already run."""
        diagnosis = self._context.secret.redact(self._diagnose(step))
        result = StepResult(step.id, step.title, diagnosis)
        self._results.append(result)
        return result

    def report(self) -> ProbeReport:
        """Close the connection and return the report."""
        self._context.close()
        return ProbeReport(
            base_url=self._context.shown_url,
            key=self._context.shown_key,
            started=self._started,
            seconds=time.monotonic() - self._started_at,
            requests=self._context.budget.spent,
            results=self._results,
        )

    def _diagnose(self, step: Step) -> Diagnosis:
        for need in step.needs:
            if reason := self._blocked_by.get(need):
                self._blocked_by[step.id] = reason
                return diagnose(SKIPPED, reason=reason)
        # A returned diagnosis lets later steps run, even if it is a failure (the probe
        # has corrected the mistake); a raised error blocks them.
        try:
            return step.run(self._context)
        except ProbeError as error:
            self._blocked_by[step.id] = step.title
            return diagnoses.from_error(error)


def run_probe(
    context: ProbeContext, steps: tuple[Step, ...], display: Display
) -> ProbeReport:
    """Run all steps, show each result, and return the report."""
    run = ProbeRun(context)
    for step in steps:
        with display.running(step.title):
            result = run.run(step)
        display.show(result)
    report = run.report()
    display.finish(report)
    return report
