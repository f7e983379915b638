"""Repeated requests do not wait behind many new ones that arrive at once."""

import fcntl
import struct
import termios
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from readback.api.http import fair_queue
from readback.api.http.fair_queue import PER_ROUND
from tests.support.echo_server import Echo, EchoExchange
from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import post_body
from tests.support.waiting import PATIENCE, wait_until
from tests.support.wire import Connection

CLIENT_COUNT = 5 * PER_ROUND


class Ordered(Echo):
    """Records the order in which bodies are answered."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[bytes] = []

    def find(self, kind, key, forwarded, connection):  # type: ignore[no-untyped-def]
        return OrderedExchange(self, kind) if kind.target == b"/known" else None

    def begin(self, head, kind, key, forwarded, size, connection):  # type: ignore[no-untyped-def]
        return OrderedExchange(self, head)


class OrderedExchange(EchoExchange):
    def answer(self, body: bytes) -> bytes:
        assert isinstance(self._echo, Ordered)
        self._echo.order.append(body)
        return super().answer(body)


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening(Ordered()) as listener:
        yield listener


@pytest.fixture
def clients(listener: Listener) -> Iterator[list[Connection]]:
    with connected(listener) as clients:
        yield clients


@contextmanager
def connected(listener: Listener) -> Iterator[list[Connection]]:
    """Connect clients that have not sent anything yet."""
    with ExitStack() as opened:
        yield [
            opened.enter_context(listener.endpoint.connect())
            for _ in range(CLIENT_COUNT)
        ]


@contextmanager
def busy(listener: Listener, seconds: float = 0) -> Iterator[None]:
    """Block the loop; at the end it receives at once what was sent meanwhile.

    The listener's clock then shows that this many seconds have passed.
    """
    wait_until(
        lambda: len(listener.registry.connections) >= CLIENT_COUNT,
        "all clients are connected",
    )
    begun, released = threading.Event(), threading.Event()

    later = listener.registry.now + seconds

    def work() -> None:
        begun.set()
        assert released.wait(PATIENCE)
        sweep(CLIENT_COUNT)

    def sweep(rounds: int) -> None:
        """Look for passed deadlines, now and in the next rounds of the loop."""
        listener.registry.sweep(max(later, listener.registry.now))
        if rounds:
            listener.loop.call_soon(sweep, rounds - 1)

    listener.loop.call_soon_threadsafe(work)
    assert begun.wait(PATIENCE)
    try:
        yield
    finally:
        released.set()


def wait_until_arrived(listener: Listener, number: int) -> None:
    """Wait until the kernel has bytes for the server from this many clients."""

    def arrived() -> bool:
        unread = [_unread_bytes(each) for each in listener.registry.connections]
        return sum(map(bool, unread)) >= number

    wait_until(arrived, "what the clients have sent has arrived")


def _unread_bytes(connection: Any) -> int:
    descriptor = connection._transport.get_extra_info("socket").fileno()
    [unread] = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"1234"))
    return unread


def send_all_at_once(
    listener: Listener, clients: list[Connection], seconds: float = 0
) -> None:
    with busy(listener, seconds):
        for number, connection in enumerate(clients):
            connection.send(post_body(body(number)))
            wait_until_arrived(listener, number + 1)


def assert_each_gets_its_own_answer(clients: list[Connection]) -> None:
    for number, connection in enumerate(clients):
        assert connection.read_answer().body == body(number)


def body(number: int) -> bytes:
    return b"%04d" % number


def order_of(listener: Listener) -> list[bytes]:
    assert isinstance(listener.handler, Ordered)
    return listener.handler.order


def test_a_repeated_request_overtakes_many_new_ones(
    listener: Listener, clients: list[Connection]
) -> None:
    known = clients.pop()
    raw = post_body(b"alice").replace(b" / ", b" /known ", 1)
    for _ in range(2):
        known.send(raw)
        assert known.read_answer().body == b"alice"
    order_of(listener).clear()
    with busy(listener):
        for number, connection in enumerate(clients):
            connection.send(post_body(body(number)))
        known.send(raw)
        wait_until_arrived(listener, CLIENT_COUNT)
    assert known.read_answer().body == b"alice"
    assert order_of(listener).index(b"alice") <= PER_ROUND


def test_a_client_that_pipelines_does_not_make_others_wait_for_all_its_requests(
    listener: Listener, clients: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the loop had been held up for a long time before each round.
    monkeypatch.setattr(fair_queue, "SECONDS_PER_EXTRA_REQUEST", 1e-9)
    many = 1000
    with busy(listener):
        clients[0].send(post_body(b"many") * many)
        clients[1].send(post_body(b"alice"))
        wait_until_arrived(listener, 2)
    assert clients[1].read_answer().body == b"alice"
    assert order_of(listener).index(b"alice") <= 2 * PER_ROUND
    bodies = {clients[0].read_answer().body for _ in range(many)}
    assert bodies == {b"many"}


def test_new_requests_are_answered_in_the_order_of_their_arrival(
    listener: Listener, clients: list[Connection]
) -> None:
    send_all_at_once(listener, clients)
    assert_each_gets_its_own_answer(clients)
    assert order_of(listener) == [body(number) for number in range(CLIENT_COUNT)]


def test_bytes_received_while_a_request_is_queued_are_answered_after_it(
    listener: Listener, clients: list[Connection]
) -> None:
    halves = [post_body(body(number)) for number in range(CLIENT_COUNT)]
    with busy(listener):
        for connection, raw in zip(clients, halves, strict=True):
            connection.send(raw + raw[:-2])
        wait_until_arrived(listener, CLIENT_COUNT)
    for connection, raw in zip(clients, halves, strict=True):
        connection.send(raw[-2:] + raw)
        connection.finish_sending()
    for number, connection in enumerate(clients):
        bodies = [connection.read_answer().body for _ in range(3)]
        assert bodies == [body(number)] * 3
        assert connection.rest() == b""


def test_a_client_that_leaves_while_queued_does_not_stop_the_others(
    listener: Listener, clients: list[Connection]
) -> None:
    send_all_at_once(listener, clients)
    for connection in clients[::2]:
        with connection:
            pass  # leaving closes it
    for number, connection in list(enumerate(clients))[1::2]:
        assert connection.read_answer().body == body(number)


def test_the_time_in_the_queue_is_not_counted_against_a_client() -> None:
    # Every deadline passes while the loop is blocked, but all requests have arrived.
    time_outs = limits(head_seconds=1, idle_seconds=1)
    with (
        listening(Ordered(), time_outs, own_time=True) as listener,
        connected(listener) as clients,
    ):
        send_all_at_once(listener, clients, seconds=60)
        assert_each_gets_its_own_answer(clients)


def test_many_clients_that_pipeline_make_others_wait_for_one_turn_of_each(
    listener: Listener, clients: list[Connection]
) -> None:
    each = 100
    alice, *flood = clients
    with busy(listener):
        for connection in flood:
            connection.send(post_body(b"many") * each)
        alice.send(post_body(b"alice"))
        wait_until_arrived(listener, len(clients))
    assert alice.read_answer().body == b"alice"
    # One when it arrives, a turn in the queue, and one more if it arrives in two parts.
    assert order_of(listener).index(b"alice") <= 3 * len(flood)
