"""`--compare`: tests two addresses from one machine and finds where they differ.

The same steps run for both, one after the other. A failure that only one of
them has tells more than the failure alone: what both share cannot be its cause.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace

from readback.probe.common.results import Culprit, Diagnosis, Fact
from readback.probe.diagnoses import diagnose
from readback.probe.language import localized
from readback.probe.report import ProbeReport
from readback.probe.steps import RUN_PROGRAMS, STEPS
from readback.probe.transport.context import ProbeContext
from readback.probe.transport.route import Route

_ORDER = {step.id: n for n, step in enumerate((*STEPS, RUN_PROGRAMS))}
_PLAIN = "not used: plain HTTP"
_ON_THE_WAY = ("proxies", "dns", "tcp", "tls")
_IN_BETWEEN = (Culprit.MACHINE, Culprit.NETWORK, Culprit.PROXY)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, with what its steps have found out."""

    context: ProbeContext
    report: ProbeReport

    @property
    def url(self) -> str:
        return self.report.base_url


@dataclass(frozen=True)
class Comparison:
    runs: tuple[FinishedRun, FinishedRun]

    @property
    def diagnosis(self) -> Diagnosis:
        """The first step that differs, and what both have in common."""
        contexts = [vars(run.context) for run in self.runs]
        routes: list[Route | None] = [one.get("route") for one in contexts]
        stores = [_store(run.context) for run in self.runs]
        proxies = [str(route.proxy or "none") if route else None for route in routes]
        both = f"{proxies[0]} and {proxies[1]}"
        common = {
            "proxy": _same(proxies, f"the same, {proxies[0]}", both),
            "network": _same([_local_address(route) for route in routes]),
            "certificate store": _same(
                stores, _PLAIN if stores[0] == _PLAIN else "the same"
            ),
        }
        lines = tuple(f"{name}: {text}" for name, text in common.items())
        found = replace(_diagnose(*self.runs, dict(common)), details=lines)
        return localized(found)


def _diagnose(
    first: FinishedRun, second: FinishedRun, common: dict[str, Fact]
) -> Diagnosis:
    if first.report.interrupted or second.report.interrupted:
        return diagnose("compare.unfinished", common=common)
    pairs = ((first, second), (second, first))
    failures = [
        (failure, *pair) for pair in pairs if (failure := pair[0].report.failure)
    ]
    if not failures:
        urls = {"first": first.url, "second": second.url}
        return diagnose("compare.same", common=common, **urls)
    failure, fails, passes = min(failures, key=lambda one: _ORDER[one[0].step])
    other = passes.report.failure
    is_before = failure.step in _ON_THE_WAY or failure.diagnosis.culprit in _IN_BETWEEN
    id = "compare.parts_at" if is_before else "compare.parts_at_service"
    if other and other.step == failure.step:
        is_same = other.diagnosis.id == failure.diagnosis.id
        id = "compare.same_failure" if is_same else "compare.other_failure"
    elif all(one.step != failure.step for one in passes.report.results):
        id = "compare.parts_after"
    return diagnose(
        id,
        common=common,
        step=failure.title,
        found=failure.diagnosis.id,
        next_step=failure.diagnosis.hint,
        fails=fails.url,
        passes=passes.url,
    )


def _store(context: ProbeContext) -> object:
    """Return what identifies the trusted certificates, or None if unknown."""
    if "base_url" in vars(context) and not context.base_url.is_encrypted:
        return _PLAIN
    return context.trusted.cert_store_stats() if context.trusted else None


def _same(
    pair: Sequence[object], same: str = "the same", other: str = "different"
) -> str:
    if None in pair:
        return "not known, because an earlier step failed"
    if _PLAIN in pair and pair[0] != pair[1]:
        return "only one address uses TLS"
    return same if pair[0] == pair[1] else other


def _local_address(route: Route | None) -> str | None:
    """Return this machine's address on a route, or None if unknown."""
    if route is None or not route.addresses:
        return None
    family = socket.AF_INET6 if ":" in route.addresses[0] else socket.AF_INET
    try:
        # Connecting a datagram socket sends nothing.
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((route.addresses[0], route.port))
            return str(sock.getsockname()[0])
    except OSError:
        return None
