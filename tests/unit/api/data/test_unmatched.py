"""Unmatched requests are merged and limited in number, overall and per address."""

from readback.api.data.unmatched import CAPACITY, UnmatchedRequests
from readback.contract import UNMATCHED_ROWS


def count(requests: UnmatchedRequests, address: str, agent: str = "curl") -> None:
    requests.count(address, "chat", "invalid_key", "A detail.", agent)


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
    count(requests, "192.0.2.1")
    assert len(requests.fetch()) == 1


def test_nothing_is_counted_without_an_address_or_without_capacity():
    off = UnmatchedRequests(0)
    for requests, address in ((UnmatchedRequests(), ""), (off, "192.0.2.1")):
        count(requests, address)
        assert requests.fetch() == {}
