"""How the connections of a listener are counted, swept and closed."""

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf

from tests.support.echo_server import PATIENT, Echo

from readback.client_address import network
from readback.http.registry import ConnectionRegistry


def registry_with(network_of: Callable[[str], str] = str, **limits: int):
    return ConnectionRegistry(Echo(), replace(PATIENT, **limits), network_of)


class Waiting:
    """A connection that has been waiting for its client since `waiting_since`."""

    def __init__(self, waiting_since: float = inf, address: str = "") -> None:
        self.waiting_since = waiting_since
        self.address = address
        self.seen: list[str] = []

    def check(self, now: float) -> None:
        self.seen.append("checked")

    def abort(self) -> None:
        self.seen.append("aborted")


def test_a_connection_that_fails_does_not_end_the_sweep(caplog):
    def fail(now: float) -> None:
        raise ZeroDivisionError

    registry = registry_with()
    first, bad, last = Waiting(), Waiting(), Waiting()
    bad.check = fail
    for connection in (first, bad, last):
        registry.connect(connection)

    registry.sweep(time.monotonic())

    assert (first.seen, bad.seen, last.seen) == (["checked"], ["aborted"], ["checked"])
    assert "ZeroDivisionError" in caplog.text


def test_connections_are_counted_by_network():
    """All 2^64 IPv6 addresses of a household share one count."""
    registry = registry_with(network, connections_per_address=2)

    def connects(address: str) -> bool:
        return registry.connect(Waiting(address=address))

    assert connects("2001:db8:0:1::1") and connects("2001:db8:0:1::2")
    assert not connects("2001:db8:0:1:ffff::3")
    assert connects("2001:db8:0:2::1") and connects("192.0.2.1")
    for connection in tuple(registry.connections):
        registry.disconnect(connection)
    assert not registry._per_address
    assert connects("2001:db8:0:1::4")


def test_the_slowest_connection_makes_room_for_a_new_one():
    registry = registry_with(connections=3, closes_slowest=True)
    busy, slow, slower, newest = Waiting(), Waiting(2.0), Waiting(1.0), Waiting(0.0)
    for connection in (busy, slow, slower, newest):
        assert registry.connect(connection)
    assert slower.seen == ["aborted"]
    assert not busy.seen + slow.seen + newest.seen


def test_the_oldest_unfinished_body_is_given_up_when_all_are_too_large():
    registry = registry_with(unfinished_bytes=100)
    alice, bob, carol = Waiting(), Waiting(), Waiting()
    for size in (20, 40):
        for connection in (alice, bob):
            registry.hold_body(connection, size)
    registry.hold_body(carol, 20)  # 100 in all
    assert not alice.seen + bob.seen + carol.seen
    registry.hold_body(bob, 50)
    assert (alice.seen, bob.seen, carol.seen) == (["aborted"], [], [])
    registry.release_body(bob)  # its body is complete
    registry.hold_body(carol, 100)
    assert not bob.seen + carol.seen
    registry.hold_body(carol, 101)
    assert carol.seen == ["aborted"]
    assert not registry.unfinished
