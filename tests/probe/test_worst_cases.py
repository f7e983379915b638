"""Whatever is sent, the probe's own code ends without an error of its own.

How much work it does is counted by the test of worst-case work.
"""

import pytest

from tests.support.instructions import WorstCase
from tests.support.worst_cases_probe import CASES


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
def test_a_worst_case_ends_without_an_error_of_the_probe(case: WorstCase) -> None:
    case.run(case.make(case.limit // 64))


def test_every_worst_case_has_a_name_of_its_own() -> None:
    names = [one.name for one in CASES]
    assert len(set(names)) == len(names)
