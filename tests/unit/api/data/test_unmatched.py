"""Unmatched requests in memory: merged, bounded, fair; and which row each one gets."""

from readback.api.data.unmatched import (
    CAPACITY,
    CELLS,
    Cell,
    UnmatchedEvent,
    UnmatchedRequests,
    cells,
    choose,
)
from readback.contract import UNMATCHED_ROWS


def count(requests: UnmatchedRequests, address: str, agent: str = "curl") -> None:
    requests.count(address, "chat", "invalid_key", "A detail.", agent)


def test_equal_requests_are_counted_together_until_they_are_fetched():
    requests = UnmatchedRequests()
    for _ in range(3):
        count(requests, "192.0.2.1")
    count(requests, "192.0.2.2")

    one = UnmatchedEvent("192.0.2.1", "chat", "invalid_key", "A detail.", "curl")
    assert requests.fetch() == {one: 3, one._replace(address="192.0.2.2"): 1}
    assert requests.fetch() == {}


def test_in_a_flood_new_requests_are_dropped_and_known_ones_counted():
    requests = UnmatchedRequests()
    for number in range(10 * CAPACITY):
        count(requests, f"192.0.2.{number}")
        count(requests, "192.0.2.0")

    counts = requests.fetch()
    assert len(counts) == CAPACITY
    assert counts.popitem()[1] == 1
    assert max(counts.values()) == 10 * CAPACITY + 1


def test_one_address_leaves_room_for_others():
    requests = UnmatchedRequests()
    for number in range(10 * CAPACITY):
        count(requests, "192.0.2.1", f"agent {number}")
    count(requests, "192.0.2.2")

    assert len(requests.fetch()) == UNMATCHED_ROWS + 1


def test_a_client_without_an_address_is_not_counted():
    requests = UnmatchedRequests()
    count(requests, "")
    assert requests.fetch() == {}


def test_nothing_is_counted_without_capacity():
    requests = UnmatchedRequests(0)
    count(requests, "192.0.2.1")
    assert requests.fetch() == {}


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
