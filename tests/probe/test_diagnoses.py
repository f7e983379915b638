"""The table of diagnoses is complete and well-formed, and every row is used."""

import re
from pathlib import Path
from string import Formatter

import pytest

from readback import probe
from readback.probe.common.results import Culprit, Diagnosis, FailureFamily, Verdict
from readback.probe.diagnoses import TABLES, TEMPLATES
from tests.probe.scenarios import SCENARIOS

FOLDER = Path(probe.__file__).parent
STEPS = [path for path in FOLDER.rglob("*.py") if path.parent.name != "diagnoses"]


def ids_used_by_the_steps() -> set[str]:
    kinds = "|".join({id.split(".")[0] for id in TEMPLATES})
    pattern = re.compile(rf'"((?:{kinds})\.[a-z_0-9]+)"')
    return {id for path in STEPS for id in pattern.findall(path.read_text())}


def test_every_id_is_unique() -> None:
    assert len(TEMPLATES) == sum(map(len, TABLES))


def test_every_diagnosis_is_used_by_a_step() -> None:
    assert set(TEMPLATES) <= ids_used_by_the_steps()


def test_every_scenario_has_a_diagnosis() -> None:
    assert {one.id for one in SCENARIOS} <= set(TEMPLATES)


@pytest.mark.parametrize("row", TEMPLATES.values(), ids=lambda row: row.id)
def test_a_diagnosis_says_what_happened_and_what_to_do(row: Diagnosis) -> None:
    serious = row.verdict in (Verdict.FAIL, Verdict.WARN)
    assert bool(row.culprit != Culprit.NONE) == serious
    assert bool(row.family != FailureFamily.NONE) == (row.verdict == Verdict.FAIL)
    assert row.hint or not serious
    assert row.sentence[0].isupper() or row.sentence[0] == "{" or row.sentence[0] == "/"
    assert row.sentence[-1] in ".}"
    assert list(Formatter().parse(row.sentence + row.hint))
    assert "!" not in row.sentence + row.hint
