"""Under which address a request is counted, and what is kept of an address."""

import tracemalloc
from collections.abc import Iterator

import pytest
from tests.support.streams import rows_of
from tests.support.work import Worker, _behind_proxy, _chat

from readback.contract import SEVERAL_ADDRESSES


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    with worker.loop:
        yield worker


def status(worker: Worker, key: str, forwarded: bytes) -> int:
    """Return the status of a request of a client behind the trusted proxy."""
    connection, transport = worker.connect()
    sent = _behind_proxy(_chat(key), 1).replace(b"192.0.2.1", forwarded, 1)
    connection.data_received(sent)
    worker.settle()
    connection.connection_lost(None)
    return int(transport.response[9:12])


def test_long_values_of_forwarded_addresses_are_not_kept(worker: Worker) -> None:
    def send(number: int) -> None:
        assert status(worker, worker.key, b"192.0.2.7, " * 1000 + b"%d" % number) == 200

    for number in range(10):
        send(number)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(10, 110):
        send(number)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # All of them together have more than a megabyte.
    assert kept < 200_000


def test_a_request_that_has_not_passed_all_proxies_has_the_connections_address(
    worker: Worker,
) -> None:
    """Equal values of X-Forwarded-For do not mean equal clients then."""
    worker.api._trusted_proxies = 2
    sent = _behind_proxy(_chat(worker.key), 1)
    for peer in 3 * ["192.0.2.1", "203.0.113.1"]:
        connection, transport = worker.connect()
        connection._address = peer
        connection.data_received(sent)
        worker.settle()
        assert transport.response.startswith(b"HTTP/1.1 200 ")
        connection.connection_lost(None)
    counts = {row[6]: requests for row, requests in rows_of(worker).items()}
    assert counts == {"192.0.2.x": 3, "203.0.113.x": 3}


def test_a_regular_caller_keeps_its_row_beside_many_that_share_one(
    worker: Worker,
) -> None:
    """All have the same program, so they differ in nothing but their addresses."""
    for number in range(20):
        assert status(worker, worker.key, b"192.0.2.1") == 200
        assert status(worker, worker.key, b"198.51.%d.1" % number) == 200
    counts = {row[6]: requests for row, requests in rows_of(worker).items()}
    assert counts.pop("192.0.2.x") == 20
    assert counts.pop(SEVERAL_ADDRESSES) == 17
    assert list(counts.values()) == [1, 1, 1]
