"""The refusals that a connection asks for by itself are part of the contract."""

from readback.api.http import refused
from readback.contract import REFUSALS


def test_every_code_of_the_http_room_has_a_row_in_the_contract() -> None:
    codes = {value for name, value in vars(refused).items() if name.isupper()}
    assert codes and codes <= REFUSALS.keys()
