"""The table of refusals agrees with `http` and with the tests."""

from readback.contract import REFUSALS
from readback.http import refused
from tests.support.api import STATUS


def test_every_code_of_http_has_a_row_in_the_contract() -> None:
    codes = {value for name, value in vars(refused).items() if name.isupper()}
    assert codes and codes <= REFUSALS.keys()


def test_the_conformance_tests_know_every_code() -> None:
    # No request alone causes these; tests/faults and tests/wire do.
    ours = {"internal_error", "unavailable"}
    statuses = {code: row.status.value for code, row in REFUSALS.items()}
    assert {code: statuses[code] for code in statuses.keys() - ours} == STATUS
