"""When many requests come at once, those that are known do not wait for the others."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from readback.api.http.fair_queue import PER_ROUND
from tests.support.echo_server import Echo, EchoExchange
from tests.support.listener import Listener, limits, listening
from tests.support.raw_requests import sized
from tests.support.waiting import wait_until
from tests.support.wire import Connection

BUSY_SECONDS = 0.3
CROWD = 5 * PER_ROUND


class Ordered(Echo):
    """Notes in which order bodies are answered."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[bytes] = []

    def begin(self, head, key, connection):  # type: ignore[no-untyped-def]
        return OrderedExchange(self, head)


class OrderedExchange(EchoExchange):
    def _respond(self, body: bytes) -> bytes:
        assert isinstance(self._echo, Ordered)
        self._echo.order.append(body)
        return super()._respond(body)


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening(Ordered()) as listener:
        yield listener


@pytest.fixture
def crowd(listener: Listener) -> Iterator[list[Connection]]:
    with connected(listener) as crowd:
        yield crowd


@contextmanager
def connected(listener: Listener) -> Iterator[list[Connection]]:
    """Connect clients that have not asked anything yet."""
    with ExitStack() as opened:
        yield [opened.enter_context(listener.endpoint.connect()) for _ in range(CROWD)]


def keep_busy(listener: Listener) -> None:
    """Keep the loop busy for a while: it finds all at once what is sent meanwhile."""
    wait_until(
        lambda: len(listener.registry.connections) >= CROWD,
        "all clients are connected",
        seconds=5,
    )
    begun: list[bool] = []

    def work() -> None:
        begun.append(True)
        time.sleep(BUSY_SECONDS)

    listener.loop.call_soon_threadsafe(work)
    wait_until(lambda: bool(begun), "the loop is busy", seconds=5)


def all_ask_at_once(listener: Listener, crowd: list[Connection]) -> None:
    keep_busy(listener)
    for number, connection in enumerate(crowd):
        connection.send(sized(body(number)))


def assert_each_gets_its_own(crowd: list[Connection]) -> None:
    for number, connection in enumerate(crowd):
        assert connection.read_answer().body == body(number)


def body(number: int) -> bytes:
    return b"%04d" % number


def order_of(listener: Listener) -> list[bytes]:
    assert isinstance(listener.handler, Ordered)
    return listener.handler.order


def test_a_repeated_request_overtakes_a_crowd_of_new_ones(
    listener: Listener, crowd: list[Connection]
) -> None:
    known = crowd.pop()
    for said in (b"hers", b"hers"):
        known.send(sized(said))
        assert known.read_answer().body == said
    order_of(listener).clear()
    all_ask_at_once(listener, crowd)
    known.send(sized(b"hers"))
    assert known.read_answer().body == b"hers"
    assert order_of(listener).index(b"hers") <= PER_ROUND


def test_everybody_in_a_crowd_gets_an_answer_in_the_order_of_coming(
    listener: Listener, crowd: list[Connection]
) -> None:
    all_ask_at_once(listener, crowd)
    assert_each_gets_its_own(crowd)
    assert order_of(listener) == [body(number) for number in range(CROWD)]


def test_what_comes_while_a_request_waits_for_its_turn_is_answered_behind_it(
    listener: Listener, crowd: list[Connection]
) -> None:
    halves = [sized(body(number)) for number in range(CROWD)]
    keep_busy(listener)
    for connection, raw in zip(crowd, halves, strict=True):
        connection.send(raw + raw[:-2])
    for connection, raw in zip(crowd, halves, strict=True):
        connection.send(raw[-2:] + raw)
        connection.finish_sending()
    for number, connection in enumerate(crowd):
        bodies = [connection.read_answer().body for _ in range(3)]
        assert bodies == [body(number)] * 3
        assert connection.rest() == b""


def test_who_leaves_before_the_turn_does_not_stop_the_others(
    listener: Listener, crowd: list[Connection]
) -> None:
    all_ask_at_once(listener, crowd)
    for connection in crowd[::2]:
        with connection:
            pass  # which closes it
    for number, connection in list(enumerate(crowd))[1::2]:
        assert connection.read_answer().body == body(number)


def test_the_time_before_the_turn_is_not_counted_against_a_client() -> None:
    # Every deadline passes while the loop is busy; all is there, so none is late.
    hasty = limits(head_seconds=BUSY_SECONDS / 3, idle_seconds=BUSY_SECONDS / 3)
    with listening(Ordered(), hasty) as listener, connected(listener) as crowd:
        all_ask_at_once(listener, crowd)
        assert_each_gets_its_own(crowd)
