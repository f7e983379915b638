"""The report: its verdict, its forms, and the schema of the JSON form."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.probe.common.catalogue import catalogue, diagnose
from readback.probe.common.responsible import Path, who_acts
from readback.probe.common.results import (
    Diagnosis,
    FailureFamily,
    Fault,
    StepResult,
    Verdict,
)
from readback.probe.output.text import MAX_LINES, WIDTH, as_long, as_short
from readback.probe.report import ProbeReport
from tests.probe.forms import FORMS, REPORT_SCHEMA, SCHEMA
from tests.probe.probing import probed
from tests.probe.setups import ProbeInput
from tests.support.commands import free_port

FINDINGS = catalogue().findings
SKIPPED = diagnose("skipped.failed", reason="TCP")
WARNING = diagnose("address.listen", base_url="https://echo.example/v1")
REFUSED = diagnose(
    "tcp.refused",
    host="echo.example",
    port=443,
    addresses="192.0.2.1",
    container="",
)
SILENT = diagnose("http.silent", timeout="10")
INTERRUPTED = diagnose("probe.interrupted")
WORKS = diagnose("echo.same")
CORRECTED = diagnose(
    "address.corrected", base_url="https://echo.example/v1", mistakes="quotes"
)
EXPOSED = diagnose("address.contains_key", base_url="https://echo.example/v1")
QUOTED = diagnose("key.corrected", mistakes="quotation marks")
CUT_KEY = diagnose("key.invalid", reason="it has 11 characters")
NOT_ACCEPTED = diagnose("key.refused", detail="It is revoked.", sent_to="a")
PAGE = diagnose("http.html", status=200, title="“Welcome”")
CHANGED = diagnose("echo.changed", difference="character 1", cause="")
SWAPPED = diagnose("echo.swapped")
MIXED = diagnose("sometimes.fails", bad=3, total=10, outcomes="502", cause="", until="")


def with_fixer(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the fixer that a run over verified HTTPS gives it."""
    return replace(diagnosis, fixer=who_acts(diagnosis.fault, Path.VERIFIED))


def report_of(*diagnoses: Diagnosis, **fields: Any) -> ProbeReport:
    """Return a report with one step for each of the diagnoses."""
    results = [
        StepResult(f"step.{n}", f"step {n}", with_fixer(diagnosis))
        for n, diagnosis in enumerate(diagnoses)
    ]
    known = {
        "base_url": "https://echo.example/v1",
        "key": "none",
        "started": datetime.now(UTC),
        "seconds": 1.0,
        "requests": 3,
    }
    return ProbeReport(**(known | fields), results=results)


ALL_FORMS = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def run_of(**findings: Diagnosis) -> ProbeReport:
    """Return a report whose steps have these names and diagnoses."""
    report = report_of(*findings.values())
    steps = zip(findings, report.results, strict=True)
    return replace(
        report, results=[result._replace(step=step) for step, result in steps]
    )


def blocked_by(step: str) -> Diagnosis:
    return diagnose("skipped.failed", reason=step, failed_step=step)


@pytest.mark.parametrize(
    ("findings", "finding", "code"),
    [
        pytest.param(
            {"address": CORRECTED, "tcp": REFUSED, "access": blocked_by("tcp")},
            *("tcp.refused", 11),
            id="a corrected address does not help if nothing is listening there",
        ),
        pytest.param(
            {"key": CUT_KEY, "http": PAGE, "access": blocked_by("http")},
            *("http.html", 13),
            id="a key is of no use for a web site",
        ),
        pytest.param(
            {"http": WORKS, "key": CUT_KEY, "access": blocked_by("key")},
            *("key.invalid", 14),
            id="without a whole key, no program gets an answer",
        ),
        pytest.param(
            {"key": QUOTED, "http": WORKS, "access": NOT_ACCEPTED},
            *("key.refused", 14),
            id="the key is not accepted even without its quotation marks",
        ),
        pytest.param(
            {"address": EXPOSED, "tcp": REFUSED, "access": blocked_by("tcp")},
            *("address.contains_key", 10),
            id="a key that others can see comes first",
        ),
        pytest.param(
            {"access": WORKS, "echo": CHANGED, "echo.full": SWAPPED},
            *("echo.swapped", 15),
            id="texts that reach the wrong person come before changed ones",
        ),
        pytest.param(
            {"address": CORRECTED, "access": WORKS, "echo": CHANGED},
            *("address.corrected", 10),
            id="with a wrong address, no text gets there at all",
        ),
        pytest.param(
            {"access": WORKS, "echo": CHANGED, "steady": MIXED},
            *("echo.changed", 15),
            id="what always happens comes before what sometimes does",
        ),
    ],
)
def test_the_verdict_is_the_failure_that_matters_most(
    findings: dict[str, Diagnosis], finding: str, code: int
) -> None:
    report = run_of(**findings)
    assert report.id == report.failure.diagnosis.id == finding
    assert report.family == code


def test_a_mistake_that_was_corrected_does_not_hide_why_the_run_ended() -> None:
    url = f'"http://127.0.0.1:{free_port()}/v1"'
    report = probed(ProbeInput(url, "sk-echo-abc"))
    assert {"address.corrected", "key.invalid"} <= {
        result.diagnosis.id for result in report.results
    }
    assert report.id == "tcp.refused"


def test_the_other_problems_are_told_each_once_the_weightiest_first() -> None:
    report = report_of(WARNING, WORKS, REFUSED, SKIPPED, SILENT, SILENT)
    assert report.id == "tcp.refused"
    others = [result.diagnosis.id for result in report.others]
    assert others == ["http.silent", "address.listen"]


def test_without_a_failure_the_verdict_is_the_warning_that_matters_most() -> None:
    serious = diagnose("tls.expires_soon", until="2026-01-01")
    report = report_of(WORKS, WARNING, serious, WARNING)
    assert report.sentence.startswith("Works, with a warning at “step 2”: ")
    assert report.family == FailureFamily.NONE


def test_only_problems_have_a_weight() -> None:
    for row in FINDINGS.values():
        is_problem = row.verdict in (Verdict.WARN, Verdict.FAIL)
        assert "serious" not in row.tags or is_problem


def test_an_error_of_the_probe_comes_after_every_other_failure() -> None:
    own = diagnose("probe.unexpected", reason="KeyError at probe.py:1")
    assert report_of(own, REFUSED).id == "tcp.refused"
    assert report_of(own, WARNING).id == "probe.unexpected"


def test_one_cause_is_told_once() -> None:
    changed = [
        diagnose("echo.changed", difference=f"at {n}", cause="") for n in range(5)
    ]
    text = " ".join(as_short(report_of(WORKS, *changed)).split())
    assert "First difference: at 0" in text
    assert "First difference: at 1" not in text


@pytest.mark.parametrize("form", [as_short, as_long])
def test_what_somebody_else_can_fix_ends_with_a_text_to_send(form) -> None:
    text = " ".join(form(report_of(WORKS, REFUSED)).split())
    message = text.partition("A text to send to the operator of the service:")[2]
    assert "A connection to https://echo.example/v1 does not work." in message
    assert "[tcp.refused]" in message and "port 443" in message
    # The evidence adds the addresses, which are not in the sentence.
    assert "Evidence: addresses: 192.0.2.1" in message
    assert "A text to send" not in form(report_of(WORKS, WARNING))


def test_what_takes_an_engineer_is_a_text_to_send() -> None:
    report = report_of(WORKS, CHANGED)
    assert report.next_step.startswith("Send this report to the operator of the")
    assert report.next_step.endswith(f"It takes an engineer: {CHANGED.hint}")
    # The message addresses the engineer, so it contains the hint.
    assert CHANGED.hint in report.message
    assert as_long(report).count(CHANGED.hint) == 2


def test_an_engineer_is_somebody_else() -> None:
    rows = [row for row in FINDINGS.values() if "engineer" in row.tags]
    assert Fault.SETTING not in {row.fault for row in rows}


@ALL_FORMS
def test_an_interrupted_run_says_where(form) -> None:
    report = report_of(
        WORKS, REFUSED, INTERRUPTED, diagnose("skipped.failed", reason="x")
    )
    assert report.family == FailureFamily.INTERRUPTED
    text = form(report)
    if form is FORMS["json"]:
        document = json.loads(text)
        assert document["interrupted"] == "step.2"
        assert document["id"] == "tcp.refused"
    else:
        assert "Interrupted at “step 2”." in " ".join(text.split())


def test_an_interrupted_run_without_a_finding_is_not_a_success() -> None:
    report = report_of(WORKS, INTERRUPTED)
    assert report.verdict == Verdict.SKIP
    assert report.sentence == "Interrupted at “step 1”; nothing failed until then."


def test_a_short_report_says_what_who_and_what_to_do() -> None:
    lines = as_short(report_of(WORKS, WARNING, REFUSED, SKIPPED)).splitlines()
    assert lines[0].startswith("✗ Fails at “step 2”: echo.example refused")
    who = "  Who can fix it: the operator of the service [tcp.refused]"
    assert lines[2] == who
    assert lines[3].startswith("  Next step: Compare the port")
    assert lines[5].startswith("! step 1: This address means")
    assert "  Works: step 0" in lines
    assert "  Not tested: step 3" in lines


def test_a_short_report_always_says_who_received_the_key() -> None:
    url = f"https://{'echo.' * 9}example/v1"
    sent = {"url_source": "openai", "key_sent_to": "https://received.example"}
    told = as_short(report_of(WORKS, base_url=url, **sent))
    assert "was sent only to https://received.example." in " ".join(told.split())


def test_a_success_is_told_in_a_few_lines() -> None:
    assert len(as_short(report_of(*[WORKS] * 20)).splitlines()) <= 8


def test_a_sentence_with_an_abbreviation_is_shown_whole() -> None:
    strict = diagnose("tls.intercepted", issuer="Acme Inc. Root")
    assert "Acme Inc. Root intercepts the connection" in report_of(strict).sentence


@given(
    url=st.text(max_size=30).map(lambda text: 100 * text),
    finding=st.sampled_from(list(FINDINGS)),
    length=st.integers(0, 2000),
    steps=st.integers(1, 40),
)
def test_a_short_report_fits_a_screen(
    url: str, finding: str, length: int, steps: int
) -> None:
    row = FINDINGS[finding]
    text = f"{'word ' * length}."
    long = Diagnosis(finding, row.verdict, row.family, row.fault, text, hint=text)
    report = report_of(*[WORKS, WARNING, REFUSED, SILENT] * steps, long, base_url=url)
    lines = as_short(report).split("\n")
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize("finding", FINDINGS)
def test_every_diagnosis_makes_a_valid_report(finding: str) -> None:
    row = FINDINGS[finding]
    sentence, hint = row.texts["en"]
    diagnosis = Diagnosis(finding, row.verdict, row.family, row.fault, sentence, hint)
    document = json.loads(FORMS["json"](report_of(diagnosis)))
    REPORT_SCHEMA.validate(document)
    assert document.keys() == SCHEMA["$defs"]["report"]["properties"].keys()
    finding = SCHEMA["$defs"]["finding"]["properties"]
    assert document["findings"][0].keys() == finding.keys()
