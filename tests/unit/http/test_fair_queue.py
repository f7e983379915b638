"""New requests wait in a queue, so that repeated ones are not delayed.

The connections are real; the event loop makes one round when the test says so.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import cast

import pytest
from tests.support.echo_server import PATIENT, Echo, EchoExchange
from tests.support.raw_requests import post_body
from tests.support.streams import RecordingTransport
from tests.support.work import ManualLoop

from readback.http import fair_queue
from readback.http.connection import Connection
from readback.http.fair_queue import MOST_EXTRA_REQUESTS, PER_ROUND, FairQueue
from readback.http.registry import ConnectionRegistry

CLIENT_COUNT = 5 * PER_ROUND
ALICE = post_body(b"alice")


class Ordered(Echo):
    """Records the order in which bodies are answered; knows the head of one target."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[bytes] = []

    def find(self, kind, key, forwarded, connection):  # type: ignore[no-untyped-def]
        return OrderedExchange(self, kind) if kind.target == b"/known" else None

    def begin(self, head, kind, key, forwarded, size, connection):  # type: ignore[no-untyped-def]
        return OrderedExchange(self, head)


class OrderedExchange(EchoExchange):
    def answer(self, body: bytes) -> bytes:
        cast(Ordered, self._echo).order.append(body)
        return super().answer(body)


class Server:
    """Connections of one listener, and the rounds of its loop."""

    def __init__(self, loop: ManualLoop) -> None:
        self._loop, self._handler = loop, Ordered()
        self.order = self._handler.order
        self.registry = ConnectionRegistry(self._handler, PATIENT)

    def connect(self) -> tuple[Connection, RecordingTransport]:
        connection, transport = Connection(self.registry), RecordingTransport()
        connection.connection_made(transport)
        return connection, transport

    def run_round(self) -> None:
        callbacks, self._loop.callbacks = self._loop.callbacks, []
        for callback, arguments in callbacks:
            callback(*arguments)

    def run(self) -> None:
        while self._loop.callbacks:
            self.run_round()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[ManualLoop]:
    """A loop that spends no time on other work."""
    monkeypatch.setattr(fair_queue, "monotonic", lambda: 0.0)
    with ManualLoop() as loop:
        yield loop


@pytest.fixture
def server(loop: ManualLoop) -> Server:
    return Server(loop)


def body(number: int) -> bytes:
    return b"%04d" % number


def send_all_at_once(server: Server) -> list[tuple[Connection, RecordingTransport]]:
    clients = [server.connect() for _ in range(CLIENT_COUNT)]
    for number, (connection, _) in enumerate(clients):
        connection.data_received(post_body(body(number)))
    return clients


def test_a_repeated_request_overtakes_many_new_ones(server: Server) -> None:
    known, transport = server.connect()
    raw = ALICE.replace(b" / ", b" /known ", 1)
    for _ in range(2):
        known.data_received(raw)
        server.run()
    server.order.clear()
    send_all_at_once(server)
    known.data_received(raw)
    assert server.order.index(b"alice") <= PER_ROUND
    server.run()
    assert transport.written.count(b"alice") == 3


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize(("target", "per_turn"), [(b"/", 1), (b"/known", 16)])
def test_a_client_that_pipelines_does_not_make_others_wait_for_all_its_requests(
    server: Server,
    is_long: bool,
    target: bytes,
    per_turn: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_long:  # as if the loop had been held up for a minute before each round
        clock = count(step=60)
        monkeypatch.setattr(fair_queue, "monotonic", lambda: float(next(clock)))
    mallory, transport = server.connect()
    alice, _ = server.connect()
    mallory.data_received(post_body(b"many").replace(b"/", target, 1) * 1000)
    alice.data_received(ALICE)
    while len(server.order) < 1001:
        before = len(server.order)
        server.run_round()
        most = PER_ROUND + MOST_EXTRA_REQUESTS * is_long
        assert 0 < len(server.order) - before <= most * per_turn
    assert server.order.index(b"alice") <= 2 * PER_ROUND * per_turn
    assert transport.written.count(b"\r\n\r\nmany") == 1000


def test_many_clients_that_pipeline_make_others_wait_for_one_turn_of_each(
    server: Server,
) -> None:
    for _ in range(CLIENT_COUNT):
        connection, _ = server.connect()
        connection.data_received(post_body(b"many") * 100)
    alice, _ = server.connect()
    alice.data_received(ALICE)
    server.run()
    assert server.order.index(b"alice") <= 2 * CLIENT_COUNT
    assert len(server.order) == 100 * CLIENT_COUNT + 1


def test_new_requests_are_answered_in_the_order_of_their_arrival(
    server: Server,
) -> None:
    clients = send_all_at_once(server)
    server.run()
    assert server.order == [body(number) for number in range(CLIENT_COUNT)]
    for number, (_, transport) in enumerate(clients):
        assert transport.written.endswith(b"\r\n\r\n" + body(number))


def test_bytes_received_while_a_request_is_queued_are_answered_after_it(
    server: Server,
) -> None:
    clients = [server.connect() for _ in range(CLIENT_COUNT)]
    for number, (connection, _) in enumerate(clients):
        raw = post_body(body(number))
        connection.data_received(raw + raw[:-2])
    for number, (connection, _) in enumerate(clients):
        connection.data_received(body(number)[-2:] + post_body(body(number)))
        connection.eof_received()
    server.run()
    for number, (_, transport) in enumerate(clients):
        assert transport.written.count(b"\r\n\r\n" + body(number)) == 3
        assert transport.closing


def test_a_client_that_leaves_while_queued_does_not_stop_the_others(
    server: Server,
) -> None:
    clients = send_all_at_once(server)
    for connection, _ in clients[PER_ROUND::2]:
        connection.connection_lost(None)
    server.run()
    left = {body(number) for number in range(PER_ROUND, CLIENT_COUNT, 2)}
    assert {*server.order} == {*map(body, range(CLIENT_COUNT))} - left


def test_the_time_in_the_queue_is_not_counted_against_a_client(server: Server) -> None:
    clients = send_all_at_once(server)
    for minutes in (10, 20):
        server.registry.sweep(server.registry.now + minutes * 60)
    server.run()
    assert len(server.order) == CLIENT_COUNT
    assert all(b"HTTP/1.1 200 " in transport.written for _, transport in clients)


def test_more_new_requests_are_handled_in_a_long_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Four requests per round of 50 ms would be only 80 a second.
    now = 0.0
    monkeypatch.setattr(fair_queue, "monotonic", lambda: now)

    async def work_done_in_a_busy_round() -> int:
        nonlocal now
        queue, done = FairQueue(), [0]
        for _ in range(1000):
            queue.enter(lambda: done.append(1))
        now = 0.05
        await asyncio.sleep(0)
        return sum(done)

    assert asyncio.run(work_done_in_a_busy_round()) == PER_ROUND + 500


def test_work_that_fails_does_not_stop_the_queue() -> None:
    async def done_after_a_failure() -> tuple[list[str], list[object]]:
        queue, done, errors = FairQueue(), [], []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: errors.append(what["exception"]))
        for _ in range(PER_ROUND):
            assert queue.enter(lambda: None)

        def fail() -> None:
            raise ZeroDivisionError

        queue.enter(fail)
        for name in ("Alice", "Bob"):
            queue.enter(partial(done.append, name))
        for _ in range(5):
            await asyncio.sleep(0)
        return done, errors

    done, errors = asyncio.run(done_after_a_failure())
    assert done == ["Alice", "Bob"]
    assert [type(error) for error in errors] == [ZeroDivisionError]
