"""Runs the steps in order and skips those that an earlier failure rules out."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import PurePath
from typing import NamedTuple, Union

from readback.probe import diagnoses
from readback.probe.background import BackgroundCall
from readback.probe.clients import comparison, running
from readback.probe.connection import dns, proxies, tcp, tls
from readback.probe.context import ProbeContext
from readback.probe.diagnoses import diagnose
from readback.probe.entered import base_url, secret
from readback.probe.output import Display
from readback.probe.report import SKIPPED, ProbeReport
from readback.probe.results import Diagnosis, ProbeError, StepResult
from readback.probe.service import (
    access,
    cabinet,
    contract_checks,
    echo,
    latency,
    recognition,
)

Check = Callable[[ProbeContext], Union[Diagnosis, list[Diagnosis]]]


class Step(NamedTuple):
    id: str
    title: str
    run: Check
    needs: tuple[str, ...] = ()
    """The ids of the steps that must succeed before this one can run."""
    in_background: bool = False
    """Whether later steps run beside it; its results come after theirs."""


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
    Step("clients", "other programs", comparison.check, ("address",)),
)
RUN_PROGRAMS = Step("run", "programs run", running.check, ("address",))


class ProbeRun:
    """One run: the results so far, and which steps a failure has blocked."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._results: list[StepResult] = []
        self._blocked_by: dict[str, str] = {}
        """The title of the failed step, by the id of each step that it blocks."""
        self._background: list[tuple[Step, BackgroundCall[list[Diagnosis]]]] = []
        self._started = datetime.now(timezone.utc)
        self._started_at = time.monotonic()

    def run(self, step: Step) -> list[StepResult]:
        """Run one step, or start it; the steps that it needs have already run."""
        if step.in_background and not self._blocking_step(step):
            call = BackgroundCall(lambda: self._diagnose(step))
            self._background.append((step, call))
            return []
        return self._keep(step, self._diagnose(step))

    def finish_background(self) -> Iterator[tuple[Step, list[StepResult]]]:
        """Wait for the steps in the background and yield their results."""
        while self._background:
            step, call = self._background[0]
            results = self._keep(step, call.result())
            del self._background[0]
            yield step, results

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

    def _keep(self, step: Step, diagnoses: list[Diagnosis]) -> list[StepResult]:
        redact = self._context.secret.redact
        results = [StepResult(step.id, step.title, redact(one)) for one in diagnoses]
        self._results += results
        return results

    def _blocking_step(self, step: Step) -> str | None:
        """Return the title of the failed step that this one needs, if there is one."""
        reasons = (self._blocked_by.get(need) for need in step.needs)
        return next(filter(None, reasons), None)

    def _diagnose(self, step: Step) -> list[Diagnosis]:
        if reason := self._blocking_step(step):
            self._blocked_by[step.id] = reason
            return [diagnose(SKIPPED, reason=reason)]
        # A returned diagnosis lets later steps run, even if it is a failure (the probe
        # has corrected the mistake); a raised error blocks them.
        try:
            found = step.run(self._context)
            return found if isinstance(found, list) else [found]
        except ProbeError as error:
            self._blocked_by[step.id] = step.title
            return [diagnoses.from_error(error)]
        except Exception as error:  # A mistake of the probe must not end the run.
            self._blocked_by[step.id] = step.title
            return [diagnose("probe.unexpected", reason=_origin(error))]


def _origin(error: Exception) -> str:
    """Return the type and the place of an error; its message may contain secrets."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"


def run_probe(
    context: ProbeContext, steps: tuple[Step, ...], display: Display
) -> ProbeReport:
    """Run all steps, show each result, and return the report."""
    run = ProbeRun(context)
    for step in steps:
        with display.running(step.title):
            results = run.run(step)
        for result in results:
            display.show(result)
    for _, results in run.finish_background():
        for result in results:
            display.show(result)
    report = run.report()
    display.finish(report)
    return report
