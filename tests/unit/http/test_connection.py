"""What a connection keeps of an answered message, and when it writes answers."""

from collections.abc import Callable, Iterator

import pytest
from tests.support.echo_server import PATIENT, Echo, recognising
from tests.support.memory import reachable_from
from tests.support.raw_requests import post_body, post_chunks
from tests.support.wire import chunked
from tests.support.work import ManualLoop, StoringTransport

from readback.http.connection import Connection

# From the second request on, heads are recognized instead of parsed.
REPETITIONS = 3
SECRET = b"zyzzyva-in-the-body"


@pytest.fixture
def loop() -> Iterator[ManualLoop]:
    with ManualLoop() as loop:
        yield loop


@pytest.fixture
def connection(loop: ManualLoop) -> Connection:
    connection = Connection(recognising(Echo(), PATIENT))
    connection.connection_made(StoringTransport())
    return connection


@pytest.mark.parametrize("raw", [post_body(SECRET), post_chunks(chunked(SECRET))])
def test_an_idle_connection_keeps_no_part_of_the_last_body(
    connection: Connection, loop: ManualLoop, raw: bytes
) -> None:
    answer_until_recognised(connection, loop, raw)
    # These hold the answer or are shared with other connections.
    del connection._transport, connection._flow, connection._registry
    for kept in reachable_from(connection):
        assert not isinstance(kept, bytes | bytearray) or SECRET not in kept


def test_a_client_that_stops_reading_gets_no_more_answers_until_it_reads(
    connection: Connection, loop: ManualLoop
) -> None:
    answer_until_recognised(connection, loop, post_body(b"x"))
    written = at_answer(connection, 5, connection.pause_writing)
    connection.data_received(post_body(b"x") * 40)
    loop.run_callbacks()
    assert len(written) == 5
    connection.resume_writing()
    loop.run_callbacks()
    assert len(written) == 40


def test_answers_are_written_before_the_event_loop_closes_the_connection(
    connection: Connection, loop: ManualLoop
) -> None:
    """With TLS, the event loop disconnects at EOF, even if requests are waiting."""
    answer_until_recognised(connection, loop, post_body(b"x"))
    written = at_answer(connection, 0, connection.abort)  # never aborts
    connection.data_received(post_body(b"x") * 2)
    assert not written
    connection.eof_received()
    assert len(written) == 1


def at_answer(
    connection: Connection, number: int, act: Callable[[], None]
) -> list[bytes]:
    """Call `act` while answer `number` is being written; return the list of answers."""
    written: list[bytes] = []

    def write(data: bytes) -> None:
        written.append(data)
        if len(written) == number:
            act()

    connection._transport.write = write  # type: ignore[method-assign]
    return written


def answer_until_recognised(
    connection: Connection, loop: ManualLoop, raw: bytes
) -> None:
    for _ in range(REPETITIONS):
        connection.data_received(raw)
        loop.run_callbacks()
        assert connection._transport.response.startswith(b"HTTP/1.1 200 ")
