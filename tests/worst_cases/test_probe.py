"""No worst case makes the probe fail with an error of its own."""

import pytest

from tests.worst_cases.counting import WorstCase
from tests.worst_cases.probe import CASES


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_worst_case_ends_without_an_error_of_the_probe(case: WorstCase) -> None:
    case.run(case.make(case.limit // 64))


def test_every_worst_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
