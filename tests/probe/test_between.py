"""Proxies and filters in between: cases that no misfortune covers, and false alarms."""

from dataclasses import replace
from pathlib import Path

import pytest

from readback.probe.common.results import Fixer, Verdict
from readback.probe.output import text
from readback.probe.report import ProbeReport
from readback.probe.transport.exchanges import MAX_REQUESTS
from tests.probe.gateway import (
    Call,
    Close,
    Reply,
    as_json,
    closing,
    editing,
    gateway,
    has_key,
    is_models,
    page,
    when,
    with_fields,
)
from tests.probe.probing import found, probed
from tests.probe.provider import KEY, provider
from tests.probe.reverse_proxies import COMMANDS, reverse_proxy
from tests.probe.setups import Arrange, ProbeInput, Resources, through


def report_of(arrange: Arrange, resources: Resources) -> ProbeReport:
    with arrange(resources) as probe_input:
        return probed(probe_input)


def ids(report: ProbeReport) -> list[str]:
    return [result.diagnosis.id for result in report.results]


@pytest.mark.parametrize("program", COMMANDS)
def test_a_plain_reverse_proxy_causes_no_warning(
    program: str, resources: Resources, tmp_path: Path
) -> None:
    readback = resources.readback
    with reverse_proxy(program, readback.base_url, tmp_path) as url:
        report = probed(ProbeInput(url, readback.api_key))
    assert report.verdict == Verdict.OK, ids(report)
    assert report.requests <= MAX_REQUESTS


def test_no_program_is_compared_with_a_rate_limit() -> None:
    def is_limited(call: Call) -> bool:
        is_probe = call["User-Agent"].startswith("readback-probe")
        return is_probe and is_models(call) and not has_key(call)

    limited = as_json(429, {"error": {"message": "Slow down"}})
    with (
        provider() as service,
        gateway(service.base_url, when(is_limited, limited)) as limiting,
    ):
        report = probed(ProbeInput(limiting.base_url, KEY))
    assert "between.program_blocked" not in ids(report)


@pytest.mark.parametrize("status", [200, 401, 403, 429, 500])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_once_recognized_no_response_is_blamed_on_the_address(
    method: str, status: int, resources: Resources
) -> None:
    def with_key(call: Call) -> bool:
        return call.method == method and has_key(call)

    report = report_of(through(when(with_key, page(status, "No"))), resources)
    assert report.decisive
    diagnosis = report.decisive.diagnosis
    assert diagnosis.verdict == Verdict.FAIL
    assert report.fixer in (Fixer.NETWORK, Fixer.OPERATOR, Fixer.SHARED), diagnosis
    assert "cabinet" not in diagnosis.hint


def cut_if_large(reply: Reply) -> Reply:
    if len(reply.body) > 4000:
        raise Close
    return reply


@pytest.mark.parametrize(
    "arrange",
    [
        through(when(lambda call: len(call.body) > 4000, closing)),
        through(editing(cut_if_large)),
    ],
    ids=["requests", "responses"],
)
def test_the_size_that_passes_is_found(arrange: Arrange, resources: Resources) -> None:
    report = report_of(arrange, resources)
    facts = found(report, "between.size_limit").facts
    assert (facts["passes"], facts["fails"]) == (3000, 8192)
    assert facts["outcome"] == "a closed connection before a response had arrived"


def test_a_response_that_breaks_off_is_measured(resources: Resources) -> None:
    def break_off(reply: Reply) -> Reply:
        return replace(reply, keep=4000) if len(reply.body) > 4000 else reply

    report = report_of(through(editing(break_off)), resources)
    outcome = found(report, "between.size_limit").facts["outcome"]
    assert "status 200, bytes: 4000/8" in outcome


@pytest.mark.parametrize(
    "header",
    [
        {"Date": "yesterday"},
        {"Date": "Mon, 01 Jan 99999 00:00:00 GMT"},
        {"Date": "Mon, 01 Jan 2024 00:00:00 +99999999999"},
        {"Age": "\xb2"},
        {"Age": "9" * 5000},
        {"Content-Type": "application/json; charset*=x'y'%FF%FE"},
        {"Content-Type": ";;;=\xff"},
        {"Content-Encoding": "\x1b[31m\xff"},
        {"Set-Cookie": "__cf_bm\x1b[31m=\xff" + "x" * 3000},
        {"Retry-After": "\x1b[31m"},
        {"Via": "1.1 " + "x" * 3000},
    ],
    ids=lambda header: str(header)[:40],
)
def test_a_hostile_header_does_no_harm(
    header: dict[str, str], resources: Resources
) -> None:
    report = report_of(through(with_fields(**header)), resources)
    assert "probe.unexpected" not in ids(report)
    assert "\x1b" not in text.as_short(report)
