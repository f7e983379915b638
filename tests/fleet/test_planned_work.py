"""What an operator does to a fleet in service: stop, roll, migrate, restart."""

import time

from tests.fleet.fleet import Fleet
from tests.fleet.member import Member
from tests.support.waiting import wait_until

# Only a request that was retried after a pause, or has waited for a start, is slower.
SLOW_SECONDS = 0.9


def test_a_planned_stop_loses_and_retries_no_request(site: Fleet) -> None:
    with site.under_load(site.new_keys(24)) as seen:
        replica = site.replicas["one"]
        replica.stop()
        seen.wait_for(300)
        replica.start()
        site.wait_until_healthy()

    assert not seen.problems
    assert seen.retried == 0
    assert seen.slower_than(SLOW_SECONDS) == 0


def test_a_rolling_restart_delays_no_request(site: Fleet) -> None:
    with site.under_load(site.new_keys(24)) as seen:
        seen.wait_for(800)
        began = time.monotonic()
        for replica in site.replicas.values():
            restart(site, replica)
        seen.wait_for(100)
    before, during = seen.percentile(0.99, until=began), seen.percentile(0.99, began)
    print(f"p99 before {before * 1000:.1f} ms, during {during * 1000:.1f} ms")

    assert not seen.problems
    assert seen.retried == 0
    assert seen.slower_than(SLOW_SECONDS) == 0
    # A quarter of a second, because the machines of this fleet share their processors.
    assert during <= max(2 * before, 0.25)


def test_a_rolling_restart_of_the_cabinets_loses_no_page(site: Fleet) -> None:
    with site.visited() as seen:
        for cabinet in site.cabinets.values():
            restart(site, cabinet)

    assert not seen.problems


def test_a_migration_loses_no_request(site: Fleet) -> None:
    # A table that the API does not need, in place of one of the next version.
    site.run("manage", "migrate", "sessions", "zero")
    with site.under_load(site.new_keys(24)) as seen:
        output = site.run("migrate")
        [key] = site.new_keys(1)
        assert site.ask(key) == 200

    assert "applied sessions.0001_initial" in output
    assert not seen.problems
    assert seen.retried == 0


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


def restart(site: Fleet, member: Member) -> None:
    member.stop()
    member.start()
    site.wait_until_healthy()
