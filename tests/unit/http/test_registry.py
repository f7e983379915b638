"""How the connections of a listener are counted, swept and closed."""

import time
from dataclasses import replace
from math import inf

from readback.client_address import network
from readback.http.registry import ConnectionRegistry, Limits


class Handler:
    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def describe(self, head: object) -> None: ...

    def fail(self, error: Exception, head: object) -> bytes:
        self.errors.append(error)
        return b""


class Checked:
    """A connection that records each check, and raises `error` if there is one."""

    address = ""

    def __init__(self, seen: list[str], name: str, error: Exception | None = None):
        self.opened_at = self.waiting_since = time.monotonic()
        self._seen, self._name, self._error = seen, name, error

    def check(self, now: float) -> None:
        self._seen.append(self._name)
        if self._error:
            raise self._error

    def abort(self) -> None:
        self._seen.append(f"{self._name} aborted")


def test_a_connection_that_fails_does_not_end_the_sweep():
    handler, seen = Handler(), []
    registry = ConnectionRegistry(handler, Limits(9, 0, 1, 1, 1, 1, 1, 1, 1, 1))
    bad = Checked(seen, "bad", ZeroDivisionError())
    for each in (Checked(seen, "first"), bad, Checked(seen, "last")):
        registry.connections[each] = ""

    registry.sweep(time.monotonic())

    assert sorted(seen) == ["bad", "bad aborted", "first", "last"]
    assert [type(error) for error in handler.errors] == [ZeroDivisionError]


def test_connections_are_counted_by_network():
    """All 2^64 IPv6 addresses of a household share one count."""
    registry = ConnectionRegistry(
        Handler(), Limits(9, 2, 1, 1, 1, 1, 1, 1, 1, 1), network
    )

    def connects(address: str) -> bool:
        connection = Checked([], address)
        connection.address = address
        return registry.connect(connection)

    assert connects("2001:db8:0:1::1") and connects("2001:db8:0:1::2")
    assert not connects("2001:db8:0:1:ffff::3")
    assert connects("2001:db8:0:2::1") and connects("192.0.2.1")
    for connection in tuple(registry.connections):
        registry.disconnect(connection)
    assert not registry._per_address
    assert connects("2001:db8:0:1::4")


class Waiting(Checked):
    """A connection that has been waiting for its client since `waiting_since`."""

    def __init__(self, name: str, waiting_since: float = inf) -> None:
        self.seen: list[str] = []
        super().__init__(self.seen, name)
        self.waiting_since = waiting_since


def test_the_slowest_connection_makes_room_for_a_new_one():
    limits = replace(Limits(3, 0, 1, 1, 1, 1, 1, 1, 1, 1), closes_slowest=True)
    registry = ConnectionRegistry(Handler(), limits)
    busy, slow, slower = Waiting("busy"), Waiting("slow", 2.0), Waiting("slower", 1.0)
    newest = Waiting("newest", 0.0)
    for connection in (busy, slow, slower, newest):
        assert registry.connect(connection)
    assert slower.seen == ["slower aborted"]
    assert not busy.seen + slow.seen + newest.seen


def test_the_oldest_unfinished_body_is_given_up_when_all_are_too_large():
    registry = ConnectionRegistry(Handler(), Limits(9, 0, 1, 1, 1, 100, 1, 1, 1, 1))
    alice, bob, carol = Waiting("alice"), Waiting("bob"), Waiting("carol")
    for size in (20, 40):
        for connection in (alice, bob):
            registry.hold_body(connection, size)
    registry.hold_body(carol, 20)  # 100 in all
    assert not alice.seen + bob.seen + carol.seen
    registry.hold_body(bob, 50)
    assert (alice.seen, bob.seen, carol.seen) == (["alice aborted"], [], [])
    registry.release_body(bob)  # its body is complete
    registry.hold_body(carol, 100)
    assert not bob.seen + carol.seen
    registry.hold_body(carol, 101)
    assert carol.seen == ["carol aborted"]
    assert not registry.unfinished
