"""A replica in the fleet dies, or a cable is cut."""

import time

from tests.fleet.fleet import Fleet
from tests.support.api import Api
from tests.support.traffic import CLIENTS
from tests.support.waiting import wait_until
from tests.support.wire import Endpoint

# A replica reports after 5 s that it has lost the database, and HAProxy checks it twice
# a second. The rest is for a busy machine.
PARTITION_SECONDS = 12.0


def test_a_killed_replica_loses_no_request(site: Fleet) -> None:
    with site.under_load(site.new_keys(24)) as seen:
        replica = site.replicas["one"]
        replica.kill()
        seen.wait_for(300)
        replica.start()
        site.wait_until_healthy()

    assert not seen.problems
    assert seen.retried > 0
    assert seen.longest < 2


def test_a_replica_that_alone_loses_the_database_leaves_the_rotation(
    site: Fleet,
) -> None:
    revoked, kept, fresh = (site.new_keys(24) for _ in range(3))
    assert {site.ask(key) for key in revoked} == {200}
    alone = Endpoint(site.replicas["one"].host, 8000)

    with site.under_load(kept) as seen:
        with site.network.cut("one", "back"):
            began = time.monotonic()
            for key in revoked:
                site.database.sql.revoke_key(key)
            wait_until(
                lambda: {site.ask(key) for key in revoked} == {401},
                "no replica that a client can reach accepts a revoked key",
                PARTITION_SECONDS,
            )
            print(f"out of rotation after {time.monotonic() - began:.1f} s")
            states = site.balancer.servers("replicas")
            # The replica accepts the keys that it knew, but cannot look up the others.
            # It stays up in case all other replicas also lose the database.
            assert {Api(alone, key).models().status for key in revoked} == {200, 503}
            assert site.balancer.servers("all_replicas")["one"] == "UP"
            assert {site.ask(key) for key in fresh} == {200}
            seen.wait_for(100)
        site.wait_until_healthy()

    assert states == {"one": "NOLB", "two": "UP", "three": "UP"}
    assert not seen.problems
    assert {site.ask(key) for key in fresh} == {200}
    assert {Api(alone, key).models().status for key in revoked} == {401}


def test_all_replicas_stay_in_when_all_have_lost_the_database(site: Fleet) -> None:
    known = site.new_keys(24)
    [unknown] = site.new_keys(1)
    with site.under_load(known) as seen:
        seen.wait_for(200)
        with site.network.cut("database", "back"):
            wait_until(
                lambda: set(site.balancer.servers("replicas").values()) == {"NOLB"},
                "every replica says that it has lost the database",
                PARTITION_SECONDS,
            )
            seen.wait_for(300)
            states = site.balancer.servers("all_replicas")
            assert site.ask(unknown) == 503
        site.wait_until_healthy()

    assert set(states.values()) == {"UP"}
    assert not seen.problems
    assert seen.retried == 0
    assert site.ask(unknown) == 200


def test_a_replica_that_the_balancer_cannot_reach_costs_only_current_requests(
    site: Fleet,
) -> None:
    with site.under_load(site.new_keys(24)) as seen:
        with site.network.cut("one", "front"):
            wait_until(
                lambda: site.balancer.servers("replicas")["one"] == "DOWN",
                "the balancer notices",
            )
            noticed_at = time.monotonic()
            seen.wait_for(300)
        site.wait_until_healthy()

    # Only requests that were in transit when the cable was cut may fail.
    assert len(seen.failed) <= CLIENTS
    assert all(outcome.started_at < noticed_at for outcome in seen.failed)
    assert seen.longest < 10
