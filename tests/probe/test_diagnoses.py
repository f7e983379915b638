"""The table of diagnoses: complete, well-formed, and nothing in it unused."""

import re
from pathlib import Path
from string import Formatter

import pytest

from readback import probe
from readback.probe.diagnoses import TABLE
from readback.probe.diagnoses.answering import ANSWERING
from readback.probe.diagnoses.echoing import ECHOING
from readback.probe.diagnoses.reaching import REACHING
from readback.probe.diagnoses.rows import Diagnosis
from readback.probe.findings import Culprit, Family, Verdict
from tests.probe.misfortunes import MISFORTUNES

FOLDER = Path(probe.__file__).parent
STEPS = [path for path in FOLDER.rglob("*.py") if path.parent.name != "diagnoses"]


def ids_in_the_steps() -> set[str]:
    kinds = "|".join({id.split(".")[0] for id in TABLE})
    pattern = re.compile(rf'"((?:{kinds})\.[a-z_0-9]+)"')
    return {id for path in STEPS for id in pattern.findall(path.read_text())}


def test_no_id_stands_twice() -> None:
    assert len(TABLE) == len(REACHING + ANSWERING + ECHOING)


def test_every_diagnosis_can_be_made() -> None:
    assert set(TABLE) <= ids_in_the_steps()


def test_every_misfortune_is_in_the_table() -> None:
    assert {one.id for one in MISFORTUNES} <= set(TABLE)


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.id)
def test_a_diagnosis_says_what_and_what_to_do(row: Diagnosis) -> None:
    serious = row.verdict in (Verdict.FAIL, Verdict.WARN)
    assert bool(row.culprit != Culprit.NOBODY) == serious
    assert bool(row.family != Family.WELL) == (row.verdict == Verdict.FAIL)
    assert row.hint or not serious
    assert row.sentence[0].isupper() or row.sentence[0] == "{" or row.sentence[0] == "/"
    assert row.sentence[-1] in ".}"
    assert list(Formatter().parse(row.sentence + row.hint))
    assert "!" not in row.sentence + row.hint
