"""Misfortunes are diagnosed correctly; misfortunes and tests cover every problem.

`make misfortunes` runs the whole collection. These tests run the misfortunes that were
once diagnosed incorrectly and the first of each group of ids, such as `tls`; `make
long` runs every misfortune that has an id.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from readback.probe.common.catalogue import catalogue
from readback.probe.common.results import FailureFamily, Verdict
from readback.probe.output.text import as_long
from readback.probe.transport.exchanges import MAX_REQUESTS
from tests.probe.forms import FORMS, REPORT_SCHEMA
from tests.probe.misfortunes import MISFORTUNES
from tests.probe.misfortunes.judging import Misfortune, Told
from tests.probe.misfortunes.running import attempt
from tests.probe.probing import found, probed
from tests.probe.setups import ProbeInput, Resources

ROWS = {
    "a key of another service: Groq",
    "Heroku: the application has crashed (H10)",
    "the proxy requires a login for a tunnel",
    "a gateway renames the model",
    "a translation changes the text",
    "the certificate is for another machine of the company",
    "one of two servers names another server program",
    # From public issue trackers and forums; these were diagnosed incorrectly at first.
    "the API's domain was sold, and redirects with a parameter",
    "a forwarded port of Codespaces is private",
    "Squid also gets requests for this machine, and denies them",
    "F5 rejects completions with a page and 200",
    "nginx takes no header as long as the key: 431",
}
_NAMED = [misfortune for misfortune in MISFORTUNES if misfortune.id]
_FIRST = {
    misfortune.id.partition(".")[0]: misfortune for misfortune in reversed(_NAMED)
}.values()
_USUAL = [
    misfortune
    for misfortune in MISFORTUNES
    if misfortune.name in ROWS or misfortune.kind == "reported" or misfortune in _FIRST
]


def test_every_misfortune_has_a_name_of_its_own() -> None:
    counts = Counter((misfortune.kind, misfortune.name) for misfortune in MISFORTUNES)
    assert [key for key, count in counts.items() if count > 1] == []


def test_every_problem_is_shown_by_a_misfortune_or_a_test() -> None:
    files = Path(__file__).parent.rglob("*.py")
    text = "\n".join(file.read_text() for file in files)
    named = set(re.findall(r"\b[a-z]+\.\w+", text))
    problems = {
        finding
        for finding, row in catalogue().findings.items()
        if row.verdict in (Verdict.WARN, Verdict.FAIL)
    }
    assert problems - named == set()


@pytest.mark.parametrize(
    "misfortune",
    _USUAL
    + [
        pytest.param(misfortune, marks=pytest.mark.long)
        for misfortune in _NAMED
        if misfortune not in _USUAL
    ],
    ids=lambda misfortune: misfortune.name,
)
def test_a_misfortune_is_told_rightly(
    misfortune: Misfortune, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgment, report = attempt(misfortune, resources, monkeypatch.setenv)
    assert judgment.told == Told.RIGHTLY, f"{judgment.why}\n{as_long(report)}"
    assert report.requests <= MAX_REQUESTS
    REPORT_SCHEMA.validate(json.loads(FORMS["json"](report)))
    # The forms are made from the report, so the report must not contain the key either.
    for shown in (repr(report), *(form(report) for form in FORMS.values())):
        assert resources.readback.api_key not in shown


def test_a_working_connection_has_no_failures_or_warnings(resources: Resources) -> None:
    readback = resources.readback
    report = probed(ProbeInput(readback.base_url, readback.api_key))
    assert report.family == FailureFamily.NONE
    assert report.verdict == Verdict.OK, [result.diagnosis for result in report.results]
    skipped = [
        result.step for result in report.results if result.diagnosis.verdict == "skip"
    ]
    assert skipped == ["tls"]
    total = found(report, "steady.ok").facts["total"]
    assert isinstance(total, int) and total >= 12
    assert report.requests <= 20
    assert "“steadiness”" not in as_long(report)
