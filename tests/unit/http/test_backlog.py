"""Clients that send many requests at once leave time for other clients.

The connection objects are real. The test runs the event loop step by step and sets the
clock, so it decides how long each answer takes.
"""

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest
from tests.support.echo_server import PATIENT, Echo, EchoExchange, EchoInfo
from tests.support.raw_requests import post_body
from tests.support.streams import RecordingTransport
from tests.support.work import ManualLoop

from readback.http import flow_control
from readback.http.connection import Connection
from readback.http.flow_control import ROUND_SECONDS, Backlog
from readback.http.meaning import Understood
from readback.http.registry import ConnectionRegistry

ALICE = post_body(b"alice")
ANSWER_SECONDS = 0.0003


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Ordered(Echo):
    """Records the order in which bodies are answered; every answer takes time."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.order: list[bytes] = []
        self.clock = clock
        self.seconds = ANSWER_SECONDS

    def begin(
        self, request: Understood[EchoInfo], connection: Connection
    ) -> EchoExchange:
        meaning, *_ = request
        return OrderedExchange(self, meaning.info)


class OrderedExchange(EchoExchange):
    def answer(self, body: bytes) -> bytes:
        handler = self._echo
        assert isinstance(handler, Ordered)
        handler.order.append(body)
        handler.clock.now += handler.seconds
        return super().answer(body)


class Server:
    """One listener's connections and event loop, which the test runs in rounds."""

    def __init__(self, loop: ManualLoop, clock: Clock) -> None:
        self._loop = loop
        self.clock = clock
        self.handler = Ordered(clock)
        self.order = self.handler.order
        self.registry = ConnectionRegistry(self.handler, PATIENT)

    def connect(self) -> tuple[Connection, RecordingTransport]:
        connection = Connection(self.registry)
        transport = RecordingTransport()
        connection.connection_made(transport)
        return connection, transport

    def run_round(self) -> None:
        callbacks = self._loop.callbacks
        self._loop.callbacks = []
        for callback, arguments in callbacks:
            callback(*arguments)

    def run(self) -> None:
        while self._loop.callbacks:
            self.run_round()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    clock = Clock()
    monkeypatch.setattr(flow_control, "monotonic", clock)
    with ManualLoop() as loop:
        yield Server(loop, clock)


def test_the_first_message_is_answered_at_once(server: Server) -> None:
    for _ in range(50):
        client, _ = server.connect()
        client.data_received(post_body(b"many") * 30)
    alice, _ = server.connect()
    alice.data_received(ALICE)
    assert server.order == [b"many"] * 50 + [b"alice"]


def test_clients_that_send_many_at_once_take_turns(server: Server) -> None:
    names = [b"%d" % number for number in range(5)]
    for name in names:
        client, _ = server.connect()
        client.data_received(post_body(name) * 9)
    server.order.clear()
    server.run()
    assert server.order == names * 8


def test_a_round_ends_in_time_however_many_clients_wait(server: Server) -> None:
    clients = [server.connect() for _ in range(600)]
    for client, _ in clients:
        client.data_received(post_body(b"many") * 30)
    while len(server.order) < 600 * 30:
        before = server.clock.now
        server.run_round()
        assert server.clock.now - before <= ROUND_SECONDS + ANSWER_SECONDS
        alice, _ = server.connect()
        alice.data_received(ALICE)
        assert server.order[-1] == b"alice"  # answered between two rounds
        server.order.pop()
        alice.connection_lost(None)


def test_a_client_that_leaves_while_it_waits_does_not_stop_the_others(
    server: Server,
) -> None:
    clients = [server.connect() for _ in range(4)]
    for number, (client, _) in enumerate(clients):
        client.data_received(post_body(b"%d" % number) * 2)
    clients[1][0].connection_lost(None)
    clients[2][1].abort()
    server.run()
    assert server.order == [b"0", b"1", b"2", b"3", b"0", b"3"]


def test_time_spent_in_the_backlog_is_not_counted_against_a_client(
    server: Server,
) -> None:
    client, transport = server.connect()
    client.data_received(ALICE * 2)
    for minutes in (10, 20):
        server.registry.sweep(server.registry.now + minutes * 60)
    server.run()
    assert transport.written.count(b"HTTP/1.1 200 ") == 2


def test_work_that_fails_does_not_stop_the_others() -> None:
    async def done_after_a_failure() -> tuple[list[str], list[object]]:
        waiting = Backlog()
        done: list[str] = []
        errors: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: errors.append(what["exception"]))

        def fail() -> None:
            raise ZeroDivisionError

        waiting.add(fail)
        for name in ("Alice", "Bob"):
            waiting.add(partial(done.append, name))
        for _ in range(5):
            await asyncio.sleep(0)
        return done, errors

    done, errors = asyncio.run(done_after_a_failure())
    assert done == ["Alice", "Bob"]
    assert [type(error) for error in errors] == [ZeroDivisionError]
