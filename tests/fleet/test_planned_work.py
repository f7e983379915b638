"""An operator stops and restarts parts of a fleet that is in use."""

import time
from contextlib import ExitStack

from tests.fleet import balancer
from tests.fleet.fleet import Fleet
from tests.fleet.member import Member
from tests.support.api import Api, assert_echo, draft
from tests.support.waiting import wait_until
from tests.support.wire import Connection, Endpoint

# Slower requests were retried after a pause, or waited for a start.
SLOW_SECONDS = 0.9
# In this time, the balancer notices that a replica is down: three failed checks, half a
# second apart.
CHECKS_SECONDS = 3.0
# How many seconds after its first check a replica is stopped.
MOMENTS = (0.0, 0.2, 0.4, 0.7)


def test_a_planned_stop_loses_and_retries_no_request(site: Fleet) -> None:
    replica = site.replicas["one"]
    with site.under_load(site.new_keys(24)) as seen, ExitStack() as stack:
        slow = begin_slow_requests(site, stack)
        replica.begin_to_stop()
        wait_until(lambda: not listens(replica), "it accepts no requests", 30)
        closed_at = time.monotonic()
        wait_until(
            lambda: time.monotonic() > closed_at + CHECKS_SECONDS,
            "the balancer has checked it several times",
        )
        for connection, rest in slow:
            connection.send(rest)
            assert_echo(connection.read_answer(), "slow")
        replica.wait_until_stopped()
        seen.wait_for(100)
        replica.start()
        site.wait_until_healthy()

    assert not seen.problems
    assert seen.retried == 0
    assert seen.longest < SLOW_SECONDS


def test_a_replica_can_be_stopped_at_any_moment_after_its_first_check(
    site: Fleet,
) -> None:
    replica = site.replicas["one"]
    with site.under_load(site.new_keys(24)) as seen:
        for seconds in MOMENTS:
            replica.stop()
            # Not `start`, which waits until the replica is ready: here only the
            # balancer checks that.
            replica.begin()
            wait_until(lambda: gets_requests(site, "one"), "it gets requests")
            up_at = time.monotonic()
            wait_until(lambda at=up_at + seconds: time.monotonic() >= at, "the moment")
        restart(site, replica)

    assert not seen.problems
    assert seen.retried == 0
    assert seen.longest < SLOW_SECONDS


def test_a_rolling_restart_of_the_cabinets_loses_no_page(site: Fleet) -> None:
    with site.visited() as seen:
        for cabinet in site.cabinets.values():
            restart(site, cabinet)

    assert not seen.problems


def test_a_restart_of_the_database_loses_no_request(site: Fleet) -> None:
    keys = site.new_keys(24)
    with site.under_load(keys) as seen:
        site.database.restart()
        [key] = site.new_keys(1)
        wait_until(lambda: site.ask(key) == 200, "a new key works")
        seen.wait_for(300)

    assert not seen.problems
    assert seen.retried == 0
    wait_until(
        lambda: sum(used(site, key) for key in keys) == seen.answered,
        "every request is counted",
    )


def used(site: Fleet, key: str) -> int:
    return sum(site.database.sql.usage(key).values())


def begin_slow_requests(
    site: Fleet, stack: ExitStack
) -> list[tuple[Connection, bytes]]:
    """Send requests without their last byte, enough for each replica to have some."""
    begun = []
    for key in site.new_keys(24):
        raw = Api(balancer.API, key).chat_bytes(draft("slow"))
        connection = stack.enter_context(balancer.API.connect())
        connection.send(raw[:-1])
        begun.append((connection, raw[-1:]))
    return begun


def gets_requests(site: Fleet, name: str) -> bool:
    return site.balancer.servers("replicas")[name] == "UP"


def listens(replica: Member) -> bool:
    try:
        with Endpoint(replica.host, 8000).connect():
            return True
    except OSError:
        return False


def restart(site: Fleet, member: Member) -> None:
    member.stop()
    member.start()
    site.wait_until_healthy()
