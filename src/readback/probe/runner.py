"""Lists the steps and runs them in order, skipping those that a failure rules out."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import PurePath

from readback.probe.common.background import BackgroundCall
from readback.probe.common.catalogue import diagnose, from_error, has_tag, say
from readback.probe.common.formatting import decimal, redacted
from readback.probe.common.responsible import Path, who_acts
from readback.probe.common.results import (
    Diagnosis,
    ProbeError,
    Service,
    StepResult,
    Verdict,
    as_warning,
)
from readback.probe.connection import dns, proxies, tcp, tls
from readback.probe.entered import OPENAI_DEFAULT, address, key
from readback.probe.output.console import ProgressLine
from readback.probe.report import INTERRUPTED, SKIPPED, ProbeReport
from readback.probe.service import (
    between,
    endpoint,
    readback,
    recognition,
    settings,
    settling,
    steadiness,
)
from readback.probe.transport.context import ProbeContext, Step
from readback.probe.transport.exchanges import mixed_requests


def _address(context: ProbeContext) -> list[Diagnosis]:
    secret = context.secret
    if context.url_source == OPENAI_DEFAULT and key.find_readback_key(secret.reveal()):
        raise ProbeError("address.missing", key=secret.mask)
    mistakes, context.base_url = address.check(context.entered_url)
    host = context.base_url.host
    context.is_host_corrected = not address.names_host(context.entered_url, host)
    return mistakes


def _key(context: ProbeContext) -> list[Diagnosis]:
    mistakes, context.key = key.check(context.secret)
    return mistakes


def _proxies(context: ProbeContext) -> list[Diagnosis]:
    found, context.route = proxies.check(context.base_url)
    return found


def _is_other(context: ProbeContext) -> bool:
    """Return whether the service is not Readback; if unknown, guess from the input."""
    if context.service:
        return context.service == Service.ENDPOINT
    sent = context.usable_key
    return bool(context.chat_model or (sent and not sent.is_readback_key))


def _is_ours(context: ProbeContext) -> bool:
    return not _is_other(context)


def _chats(context: ProbeContext) -> bool:
    return bool(context.chat_model and _is_other(context))


STEPS = (
    Step("address", "address", _address),
    Step("key", "key", _key),
    Step("proxies", "proxies", _proxies, ("address",)),
    Step("dns", "DNS", dns.check, ("proxies",)),
    Step("tcp", "TCP", tcp.check, ("dns",)),
    Step("tls", "TLS", tls.check, ("tcp",)),
    Step("http", "HTTP", recognition.check, ("tls",)),
    Step("again", "asked_again", steadiness.sample, ("http",)),
    Step("agents", "User-Agent", between.check_agents, ("http",)),
    Step("access", "access", readback.check_access, ("http", "key"), _is_ours),
    Step("echo", "echo", readback.check_echo, ("access",), _is_ours),
    Step("echo.full", "largest_echo", readback.check_largest, ("access",), _is_ours),
    Step("access", "access", endpoint.check_access, ("http", "key"), _is_other),
    Step("models", "model_list", endpoint.check_models, ("access",), _is_other),
    Step("chat", "completion", endpoint.check_completion, ("access",), _chats, 1),
    Step("stream", "streamed_completion", endpoint.check_stream, ("chat",), _chats, 1),
    Step("steady", "steadiness", steadiness.check, ("proxies",), repeats=0),
    Step("clients", "other_programs", settings.check, ("address",)),
)


# With the default timeout, a run takes at most a minute, even if every request hangs.
_REPORT_SECONDS = 5.0
SHORTEST_TIME_LIMIT = 60.0 - _REPORT_SECONDS
TIMEOUTS_PER_RUN = 6
_TICK_SECONDS = 0.1
# The steps that can fail because of a line in the hosts file or because of a proxy.
_EXPLAINED = ("dns", "tcp", "tls", "http")


class ProbeRun:
    """One run: the results so far, and which steps a failure has blocked.

    Each step runs in its own thread while the main thread only waits. Ctrl-C therefore
    never interrupts a step, and a step that hangs cannot delay the end of the run.
    """

    def __init__(
        self, context: ProbeContext, progress: ProgressLine | None = None
    ) -> None:
        self._context = context
        self._progress = progress or ProgressLine(None)
        self._steps: list[Step] = []
        """The started steps and, if the run ends early, also the remaining ones."""
        self._found: dict[str, list[StepResult]] = {}
        self._blocked_by: dict[str, Step] = {}
        """The failed step, by its own id and by the id of each step that it blocks."""
        self._started = datetime.now(timezone.utc)
        self._started_at = time.monotonic()
        hanging = TIMEOUTS_PER_RUN * context.timeout
        self._limit = max(SHORTEST_TIME_LIMIT, hanging - _REPORT_SECONDS)
        context.deadline = self._started_at + self._limit

    def run(self, steps: Iterable[Step]) -> ProbeReport:
        """Run the steps; end early if Ctrl-C is pressed or the run takes too long."""
        rest = (step for step in steps if step.applies(self._context))
        try:
            for step in rest:
                self._steps.append(step)
                self._run(step)
        except KeyboardInterrupt:
            self._steps += rest
            self._end(diagnose(INTERRUPTED))
        except TimeoutError:
            self._steps += rest
            self._end(None)
        finally:
            self._progress.clear()
        self._context.close()
        shown = self._context.redactor.text
        sent_to = ", ".join(sorted(self._context.key_destinations))
        found = [result for step in self._steps for result in self._found[step.id]]
        return ProbeReport(
            base_url=shown(self._context.shown_url),
            key=self._context.shown_key,
            started=self._started,
            seconds=time.monotonic() - self._started_at,
            requests=self._context.budget.spent,
            results=self._corrected(found),
            key_sent_to=shown(sent_to) or None,
            service=self._context.service,
            url_source=self._context.url_source,
        )

    def _corrected(self, found: list[StepResult]) -> list[StepResult]:
        """Return the results, corrected by what later steps found."""
        budget = self._context.budget
        ids = {result.diagnosis.id for result in found}
        is_settled = ids.isdisjoint(("skipped.unsteady", SKIPPED))
        is_unsteady = mixed_requests(budget.exchanges) or budget.limit_status
        path = self._context.path
        failure = None
        settled = []
        for result in found:
            diagnosis = result.diagnosis
            is_fail = diagnosis.verdict == Verdict.FAIL
            if is_settled and is_fail and diagnosis.id.startswith("sometimes."):
                diagnosis = as_warning(diagnosis)
            elif is_unsteady and has_tag(diagnosis.id, "compares"):
                diagnosis = diagnose("skipped.unsteady")
            elif is_fail and result.step in _EXPLAINED:
                failure = failure or diagnosis
            settled.append(result._replace(diagnosis=diagnosis))
        return [
            self._in_the_end(result, failure, path)
            for result in settled
            # Drop warnings that only explain a failed connection.
            if failure or not has_tag(result.diagnosis.id, "explains")
        ]

    def _in_the_end(
        self, result: StepResult, failure: Diagnosis | None, path: Path
    ) -> StepResult:
        diagnosis = result.diagnosis
        final = self._context.shown_url
        # Let an early step's advice name the address that a later step found.
        facts = dict(diagnosis.facts)
        if diagnosis.hint and facts.pop("base_url", final) != final:
            advice = diagnose(diagnosis.id, figure="", base_url=final, **facts)
            diagnosis = redacted(advice, self._context.redactor)
        # A warning that explains why the run failed is reported as the failure.
        is_cause = has_tag(diagnosis.id, "explains") and failure
        if failure and is_cause and _explains(diagnosis, failure, path):
            family = failure.family
            diagnosis = replace(diagnosis, verdict=Verdict.FAIL, family=family)
        fixer = who_acts(diagnosis.fault, path)
        return result._replace(diagnosis=replace(diagnosis, fixer=fixer))

    def _run(self, step: Step) -> None:
        """Run a step and keep its results; raise `TimeoutError` at the deadline."""
        reasons = (self._blocked_by.get(need) for need in step.needs)
        if failed := next(filter(None, reasons), None):
            self._blocked_by[step.id] = failed
            facts = {"reason": say(failed.title), "failed_step": failed.id}
            self._keep(step, [diagnose(SKIPPED, **facts)])
            return
        call = BackgroundCall(lambda: self._diagnose(step))
        # On Windows, Ctrl-C is only noticed when a wait ends.
        while not call.wait(_TICK_SECONDS):
            with suppress(Exception):  # A display error must not end the run.
                self._progress.show(say(step.title), len(self._found))
            if time.monotonic() > self._context.deadline:
                raise TimeoutError
        self._keep(step, call.result())

    def _end(self, diagnosis: Diagnosis | None) -> None:
        """Record why the running step ended; None means that time ran out."""
        unfinished = [step for step in self._steps if step.id not in self._found]
        if not unfinished:
            return
        waited = unfinished[0]
        failures = self._context.failures
        titles = ", ".join(say(step.title) for step in unfinished)
        if diagnosis is None:
            access = self._found.get("access", [])
            limit = decimal(f"{self._limit:g}")
            diagnosis = diagnose("probe.time_limit", limit=limit, left_out=titles)
            if any(found.diagnosis.verdict != Verdict.SKIP for found in access):
                diagnosis = as_warning(diagnosis)  # The key was accepted.
            # The step has failed once, and there is no time to try it again.
            if waited.id in failures:
                diagnosis = from_error(failures[waited.id])
        for step in unfinished:
            skipped = diagnose(SKIPPED, reason=say(waited.title))
            self._keep(step, [diagnosis if step is waited else skipped])

    def _keep(self, step: Step, diagnoses: list[Diagnosis]) -> None:
        redactor = self._context.redactor
        self._found[step.id] = []
        for diagnosis in diagnoses:
            shown = redacted(diagnosis, redactor)
            if diagnosis.id == "address.corrected" and step.id != "address":
                # Only a later step learns from the server that the address is wrong.
                first = self._found["address"][0]
                self._found["address"] = [first._replace(diagnosis=shown)]
            else:
                result = StepResult(step.id, say(step.title), shown)
                self._found[step.id].append(result)

    def _diagnose(self, step: Step) -> list[Diagnosis]:
        # A returned diagnosis lets later steps run, even if it is a failure (the probe
        # has corrected the mistake); a raised error blocks them.
        try:
            return settling.settle(self._context, step)
        except ProbeError as error:
            self._blocked_by[step.id] = step
            return [from_error(error)]
        except Exception as error:  # A bug in the probe must not end the run.
            self._blocked_by[step.id] = step
            return [diagnose("probe.unexpected", reason=origin(error))]


def _explains(warning: Diagnosis, failure: Diagnosis, path: Path) -> bool:
    """Return whether an early step's warning explains the failure."""
    if warning.id.startswith("dns."):
        # A line in the hosts file that points to another machine proves nothing.
        addresses = str(warning.facts["addresses"]).split(", ")
        return failure.id.startswith("tcp.") and dns.range_of(addresses) == "here"
    if failure.id.startswith("proxy."):
        return failure.id != "proxy.unreachable"
    # Through a tunnel, the answer comes from the service, not from the proxy.
    is_server_error = str(failure.facts.get("status", "")).startswith("5")
    pages = ("http.silent", "http.proxy_page", "between.blocked")
    return path is Path.PROXY and (is_server_error or failure.id in pages)


def origin(error: Exception) -> str:
    """Return the type and line of an error; its message might contain secrets."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {PurePath(frame.filename).name}:{frame.lineno}"
