"""The report: its verdict, its forms, and the schema of the JSON form."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readback.probe.common.results import (
    Culprit,
    Diagnosis,
    FailureFamily,
    Fixer,
    StepResult,
    Verdict,
)
from readback.probe.diagnoses import TEMPLATES, diagnose
from readback.probe.output import formats
from readback.probe.report import MINOR, SERIOUS, ProbeReport
from tests.probe.broken_servers import closed_port
from tests.probe.forms import FORMS, REPORT_SCHEMA, SCHEMA, in_terminal
from tests.probe.probing import probed
from tests.probe.setups import ProbeInput

SKIPPED = diagnose("skipped.failed", reason="TCP")
WARNING = diagnose("address.trailing_slash", base_url="https://echo.example/v1")
REFUSED = diagnose("tcp.refused", host="echo.example", port=443, addresses="192.0.2.1")
SILENT = diagnose("http.silent", timeout="10")
INTERRUPTED = diagnose("probe.interrupted")
WORKS = diagnose("echo.same")
CORRECTED = diagnose("address.quoted", base_url="https://echo.example/v1")
EXPOSED = diagnose("address.contains_key", base_url="https://echo.example/v1")
QUOTED = diagnose("key.quoted")
CUT_KEY = diagnose("key.cut", reason="it has 11 characters")
NOT_ACCEPTED = diagnose("key.refused", detail="The key is revoked.")
PAGE = diagnose("http.html", status=200, title="“Welcome”")
DEAD = diagnose("between.idle_dead", seconds="4.5 s")
CHANGED = diagnose("echo.changed", difference="character 1")
SWAPPED = diagnose("echo.swapped")
REMOVED = diagnose("parameter.ignored", status=200)
FIELDS = diagnose("between.fields_changed", changes="created is missing")
MIXED = diagnose("sometimes.status", bad=3, total=10, outcomes="502")


def report_of(*diagnoses: Diagnosis, **fields: Any) -> ProbeReport:
    """Return a report with one step for each of the diagnoses."""
    results = [
        StepResult(f"step.{n}", f"step {n}", one) for n, one in enumerate(diagnoses)
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
    """Return a report with these diagnoses by the ids of their steps."""
    report = report_of(*findings.values())
    steps = zip(findings, report.results, strict=True)
    return replace(report, results=[one._replace(step=step) for step, one in steps])


def blocked_by(step: str) -> Diagnosis:
    return diagnose("skipped.failed", reason=step, failed_step=step)


@pytest.mark.parametrize(
    ("findings", "id", "code"),
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
            {"http": WORKS, "key": CUT_KEY, "idle": DEAD, "access": blocked_by("key")},
            *("key.cut", 14),
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
            {"access": WORKS, "echo.ascii": CHANGED, "echo.full": SWAPPED},
            *("echo.swapped", 15),
            id="texts that reach the wrong person come before changed ones",
        ),
        pytest.param(
            {"address": CORRECTED, "access": WORKS, "echo.ascii": CHANGED},
            *("address.quoted", 10),
            id="with a wrong address, no text gets there at all",
        ),
        pytest.param(
            {"access": WORKS, "parameter": REMOVED, "between": FIELDS, "steady": MIXED},
            *("sometimes.status", 13),
            id="requests that fail matter more than what few programs notice",
        ),
        pytest.param(
            {"access": WORKS, "echo.ascii": CHANGED, "steady": MIXED},
            *("echo.changed", 15),
            id="what always happens comes before what sometimes does",
        ),
    ],
)
def test_the_verdict_is_the_failure_that_matters_most(
    findings: dict[str, Diagnosis], id: str, code: int
) -> None:
    report = run_of(**findings)
    assert report.id == report.failure.diagnosis.id == id
    assert report.family == code


def test_a_mistake_that_was_corrected_does_not_hide_why_the_run_ended() -> None:
    url = f'"http://127.0.0.1:{closed_port()}/v1"'
    report = probed(ProbeInput(url, "sk-echo-abc"))
    assert {"address.quoted", "key.cut"} <= {one.diagnosis.id for one in report.results}
    assert report.id in ("tcp.refused", "tcp.in_docker", "tcp.in_container")


def test_the_verdict_counts_the_other_failures() -> None:
    report = report_of(WARNING, WORKS, REFUSED, SKIPPED, SILENT)
    assert report.id == "tcp.refused"
    assert report.sentence == (
        "Fails at “step 2”: echo.example refused the connection: nothing is listening "
        "on port 443. (1 more failure, 1 warning.)"
    )


def test_without_a_failure_the_verdict_is_the_warning_that_matters_most() -> None:
    serious = diagnose("tls.expires_soon", left="1 day")
    report = report_of(WORKS, WARNING, serious, WARNING)
    assert report.sentence.startswith("Works, with a warning at “step 2”: ")
    assert report.sentence.endswith(" (1 more warning.)")
    assert report.family == FailureFamily.NONE


def test_only_problems_have_a_weight() -> None:
    problems = (Verdict.WARN, Verdict.FAIL)
    known = {id for id, row in TEMPLATES.items() if row.verdict in problems}
    assert known >= SERIOUS | MINOR
    assert not SERIOUS & MINOR


def test_an_error_of_the_probe_comes_after_every_other_failure() -> None:
    own = diagnose("probe.unexpected", reason="KeyError at probe.py:1")
    assert report_of(own, REFUSED).id == "tcp.refused"
    assert report_of(own, WARNING).id == "probe.unexpected"


@pytest.mark.parametrize("form", [formats.as_text, formats.as_markdown, in_terminal])
def test_one_cause_is_told_once(form) -> None:
    changed = [diagnose("echo.changed", difference=f"at {n}") for n in range(5)]
    report = report_of(WORKS, *changed)
    text = " ".join(form(report).split())
    assert "1 more failure" not in report.sentence
    assert "First difference: at 0" in text
    assert "First difference: at 1" not in text
    assert "Seen at these steps, too: step 2, step 3, step 4, step 5." in text


@pytest.mark.parametrize("form", [formats.as_text, in_terminal])
def test_what_somebody_else_can_fix_ends_with_a_text_to_send(form) -> None:
    text = " ".join(form(report_of(WORKS, REFUSED)).split())
    message = text.partition("A text to send to the operator of the service:")[2]
    assert "A connection to https://echo.example/v1 does not work." in message
    assert "[tcp.refused]" in message and "port 443" in message
    # What the sentence does not say.
    assert "Evidence: IP addresses: 192.0.2.1 The probe advised: Compare" in message
    assert "A text to send" not in form(report_of(WORKS, WARNING))


def test_what_takes_an_engineer_is_a_text_to_send() -> None:
    report = report_of(WORKS, CHANGED)
    assert report.next_step.startswith("Send this report to your network's admin")
    assert report.next_step.endswith(f"It takes an engineer: {CHANGED.hint}")
    # The message is for the engineer.
    assert CHANGED.hint in report.message
    assert formats.as_text(report).count(CHANGED.hint) == 2


def test_an_engineer_is_somebody_else() -> None:
    rows = [row for row in TEMPLATES.values() if row.takes_engineer]
    assert {row.culprit.fixer for row in rows} == {Fixer.NETWORK}


@pytest.mark.parametrize("culprit", Culprit)
def test_every_culprit_has_somebody_who_can_fix_it(culprit: Culprit) -> None:
    assert (culprit.fixer == Fixer.NOBODY) == (culprit == Culprit.NONE)


@ALL_FORMS
def test_the_verdict_is_at_the_top_with_who_and_what_to_do(form) -> None:
    report = report_of(WORKS, WARNING, REFUSED, SKIPPED)
    text = " ".join(form(report).replace("\\", "").split())
    shown = json.dumps(report.sentence)[1:-1].replace("\\", "")
    start = shown if form is formats.as_json else report.sentence
    assert text.index(start) < 120
    assert text.index(start) < text.index(REFUSED.hint.format())
    assert "operator" in text


@ALL_FORMS
def test_an_interrupted_run_says_where(form) -> None:
    report = report_of(
        WORKS, REFUSED, INTERRUPTED, diagnose("skipped.ended", reason="x")
    )
    assert report.family == FailureFamily.INTERRUPTED
    text = form(report)
    if form is formats.as_json:
        document = json.loads(text)
        assert document["interrupted"] == "step.2"
        assert document["id"] == "tcp.refused"
    else:
        assert "Interrupted at “step 2”." in " ".join(text.split())


def test_an_interrupted_run_without_a_finding_is_not_a_success() -> None:
    report = report_of(WORKS, INTERRUPTED)
    assert report.verdict == Verdict.SKIP
    assert report.sentence == "Interrupted at “step 1”; nothing failed until then."


@ALL_FORMS
def test_a_hint_that_applies_to_several_steps_is_printed_once(form) -> None:
    changed = diagnose("echo.changed", difference="character 1")
    text = " ".join(form(report_of(REFUSED, changed, changed)).split())
    expected = 2 if form is formats.as_json else int(form is not formats.as_short)
    assert text.count(changed.hint) == expected


def test_a_short_report_is_five_lines() -> None:
    lines = formats.as_short(report_of(WORKS, REFUSED, SKIPPED)).splitlines()
    assert lines[0].startswith("Fails at “step 1”: ")
    assert lines[1] == "Who can fix it: the operator of the service"
    assert lines[2] == f"Next step: {REFUSED.hint}"
    assert lines[3] == "Worked: step 0"
    assert lines[4].startswith("tcp.refused; https://echo.example/v1; readback ")


@given(
    url=st.text(max_size=30).map(lambda text: 100 * text),
    id=st.sampled_from(list(TEMPLATES)),
    length=st.integers(0, 2000),
    steps=st.integers(1, 40),
)
def test_a_short_report_fits_a_chat_message(
    url: str, id: str, length: int, steps: int
) -> None:
    row = TEMPLATES[id]
    text = f"{'word ' * length}."
    long = Diagnosis(id, row.verdict, row.family, row.culprit, text, hint=text)
    report = report_of(*[WORKS] * steps, long, base_url=url)
    assert len(formats.as_short(report)) <= 600


@pytest.mark.parametrize("width", [1, 40, 71, 72, 200])
def test_a_report_fits_the_terminal(width: int) -> None:
    lines = in_terminal(report_of(WORKS, WARNING, REFUSED, SKIPPED), width).split("\n")
    assert max(map(len, lines)) <= max(20, width)


@pytest.mark.parametrize("id", TEMPLATES)
def test_every_diagnosis_makes_a_valid_report(id: str) -> None:
    row = TEMPLATES[id]
    diagnosis = Diagnosis(
        id, row.verdict, row.family, row.culprit, row.sentence, row.hint
    )
    document = json.loads(formats.as_json(report_of(diagnosis)))
    REPORT_SCHEMA.validate(document)
    assert document.keys() == SCHEMA["$defs"]["report"]["properties"].keys()
    finding = SCHEMA["$defs"]["finding"]["properties"]
    assert document["findings"][0].keys() == finding.keys()
