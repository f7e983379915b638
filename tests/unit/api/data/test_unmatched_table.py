"""Which row of the table an unmatched request gets. house/test_store.py writes them."""

from readback.api.data.unmatched_table import CELLS, Cell, cells, choose
from readback.contract import UNMATCHED_ROWS

OWN = range(16, 24)


def digest(number: int) -> bytes:
    return bytes([number]) * 16


def test_every_cell_belongs_to_some_network():
    networks = [number.to_bytes(4) + b"x" * 12 for number in range(CELLS)]
    owned = {cell for network in networks for cell in cells(network)}
    assert owned == set(range(CELLS))
    assert {len(cells(network)) for network in networks} == {UNMATCHED_ROWS}


def test_a_request_keeps_its_cell():
    held = {cell: Cell(digest(cell), 1.0) for cell in OWN}
    assert [choose(digest(cell), OWN, held) for cell in OWN] == list(OWN)


def test_a_new_request_gets_a_free_cell_while_there_is_one():
    held: dict[int, Cell] = {}
    for number in range(len(OWN)):
        # All of them begin at the same cell.
        cell = choose(digest(8 * number), OWN, held)
        assert cell not in held
        held[cell] = Cell(digest(8 * number), 1.0)


def test_a_new_request_replaces_the_oldest():
    held = {cell: Cell(digest(cell), 100.0 - cell) for cell in OWN}
    assert choose(digest(1), OWN, held) == OWN[-1]


def test_workers_choose_the_same_cell_for_equal_requests_only():
    assert choose(digest(3), OWN, {}) == choose(digest(3), OWN, {})
    assert choose(digest(3), OWN, {}) != choose(digest(4), OWN, {})
