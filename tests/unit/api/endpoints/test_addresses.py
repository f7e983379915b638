"""Which address a request is counted under; the rest of X-Forwarded-For is not kept."""

import tracemalloc
from collections.abc import Iterator

import pytest
from tests.support.api import Api, draft
from tests.support.streams import rows_of
from tests.support.wire import Endpoint
from tests.support.work import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    with worker.loop:
        yield worker


def send(worker: Worker, *forwarded: str, peer: str = "127.0.0.1") -> None:
    """Send an accepted request through the trusted proxy."""
    api = Api(Endpoint("127.0.0.1", 8000), worker.key)
    fields = [("X-Forwarded-For", value) for value in forwarded]
    connection, transport = worker.connect()
    connection._address = peer
    connection.data_received(api.chat_bytes(draft(), extra=fields))
    worker.settle()
    connection.connection_lost(None)
    assert transport.response.startswith(b"HTTP/1.1 200 ")


def test_long_values_of_x_forwarded_for_are_not_kept(worker: Worker) -> None:
    for number in range(110):
        if number == 10:
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
        send(worker, "192.0.2.7, " * 1000 + str(number))
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # The headers together are longer than a megabyte.
    assert kept < 200_000


def test_a_request_that_bypassed_a_proxy_has_the_address_of_its_connection(
    worker: Worker,
) -> None:
    """Requests with identical heads may then come from different clients."""
    worker.api._trusted_proxies = 2
    for peer in ["192.0.2.1", "203.0.113.1"]:
        send(worker, "198.51.100.1", peer=peer)
        [row] = rows_of(worker)
        assert row[-1] == peer.removesuffix("1") + "x"


def test_a_proxy_may_add_the_address_in_a_second_field(worker: Worker) -> None:
    """HAProxy does this; the client may have written the first field."""
    send(worker, "192.0.2.66", "203.0.113.5")
    [row] = rows_of(worker)
    assert row[-1] == "203.0.113.x"
