"""A database is restored while two workers serve: ids then belong to other keys."""

from collections.abc import Callable

import pytest

from readback import keys
from tests.scale.conftest import Site
from tests.support.database import Database
from tests.support.load import models
from tests.support.metrics import metrics, readiness
from tests.support.processes import one_connection_per_worker
from tests.support.waiting import wait_until
from tests.support.wire import Connection

ID_OF = "SELECT id FROM cabinet_key WHERE digest = ?"
SET_DIGEST = "UPDATE cabinet_key SET digest = ? WHERE id = ?"


def ask(site: Site, connection: Connection, key: str) -> int:
    connection.send(models(site.endpoint, key))
    return connection.read_answer().status


def digest(key: str) -> bytes:
    return keys.digest(key.encode())


def restore(database: Database, new_owners: dict[int, str]) -> None:
    """Give ids to other, unused keys at once, as a restore does."""
    mark = "?" if database.is_sqlite else "%s"
    statement = SET_DIGEST.replace("?", mark)
    with database.connected() as connection:
        connection.execute("BEGIN")
        for number, each in enumerate(new_owners):
            connection.execute(statement, (number.to_bytes(32), each))
        for each, key in new_owners.items():
            connection.execute(statement, (digest(key), each))
        # Last: until their keys are changed, workers may be writing it.
        connection.execute("DELETE FROM cabinet_usage")
        connection.execute("COMMIT")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_keys_that_take_the_ids_of_others_in_a_restore_are_not_mixed_up(
    kind: str, start: Callable[..., Site]
) -> None:
    site = start(kind, READBACK_WORKERS="2")
    lost, [first, second] = site.new_keys(40), site.new_keys(2)
    restored = [keys.mint() for _ in lost]
    ids = {
        key: site.database.value(ID_OF, digest(key)) for key in (*lost, first, second)
    }
    new_owners = {ids[old]: new for old, new in zip(lost, restored, strict=True)}
    new_owners |= {ids[first]: second, ids[second]: first}

    with one_connection_per_worker(site.server) as connections:
        for connection in connections:
            for key in (*lost, first, second, *lost):
                assert ask(site, connection, key) == 200
        restore(site.database, new_owners)
        # Before the workers have asked about their keys again.
        for key in (*restored, first):
            for connection in connections:
                assert ask(site, connection, key) == 200
        for key in lost:
            for connection in connections:
                wait_until(
                    lambda c=connection, k=key: ask(site, c, k) == 401,
                    "a key that is not in the backup is refused",
                    seconds=10,
                )
        site.server.revoke_key(second)
        for connection in connections:
            wait_until(
                lambda c=connection: ask(site, c, second) == 401,
                "a revoked key is refused",
                seconds=10,
            )

    for key in restored:
        wait_until(
            lambda k=key: site.database.usage(k) == {("models", ""): 2},
            lambda k=key: f"its own usage is written, not {site.database.usage(k)}",
        )
    assert_whole(site)


def assert_whole(site: Site) -> None:
    found = metrics(site.server.ops_url)
    assert (found["worker_deaths_total"], found["round_errors_total"]) == (0, 0)
    wait_until(
        lambda: readiness(site.server.ops_url, "/readyz/strict") == (200, []),
        "every worker completes its rounds",
    )
