"""Clients that send many requests at once leave time for other clients.

The connection objects are real. The test runs the event loop step by step and sets the
clock, so it decides how long each answer takes.
"""

from collections.abc import Iterator
from functools import partial

import pytest
from tests.support.echo_server import PATIENT, Echo
from tests.support.raw_requests import post_body
from tests.support.streams import RecordingTransport
from tests.support.work import ManualLoop

from readback.http import flow_control
from readback.http.connection import Connection
from readback.http.flow_control import ROUND_SECONDS, Backlog
from readback.http.registry import ConnectionRegistry

ALICE = post_body(b"alice")
ANSWER_SECONDS = 0.0003


class Server(Echo):
    """A listener and its event loop, which the test runs in rounds.

    It records the order in which bodies are answered; every answer takes time.
    """

    def __init__(self, loop: ManualLoop) -> None:
        super().__init__()
        self._loop = loop
        self.now = 0.0
        self.order: list[bytes] = []
        self.registry = ConnectionRegistry(self, PATIENT)

    def begin(self, request: object, connection: Connection) -> "Server":
        return self

    def answer(self, body: bytes) -> bytes:
        self.order.append(body)
        self.now += ANSWER_SECONDS
        return b"HTTP/1.1 200 OK\r\n\r\n"

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
    with ManualLoop() as loop:
        server = Server(loop)
        monkeypatch.setattr(flow_control, "monotonic", lambda: server.now)
        yield server


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
    assert server.order == [b"many"] * 600  # each client's first is answered at once
    while len(server.order) < 600 * 30:
        before = server.now
        server.run_round()
        assert server.now - before <= ROUND_SECONDS + ANSWER_SECONDS
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


def test_work_that_fails_does_not_stop_the_others(server: Server) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    done: list[str] = []
    backlog = Backlog()
    for work in (fail, partial(done.append, "Alice"), partial(done.append, "Bob")):
        backlog.add(work)
    with pytest.raises(ZeroDivisionError):  # a real event loop would log it
        server.run()
    server.run()
    assert done == ["Alice", "Bob"]
