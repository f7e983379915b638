"""A change to a key or an account takes effect in every worker within a second.

Most changes are plain SQL, because the API must notice them whatever their origin.
"""

import time
from collections.abc import Callable
from hashlib import sha256

import pytest

from readback import keys
from tests.support.load import models
from tests.support.metrics import metrics
from tests.support.processes import one_connection_per_worker
from tests.support.server import Server
from tests.support.waiting import wait_until
from tests.support.wire import Connection, exchange

# A busy machine may take ten times as long as promised.
PROMISED_SECONDS = 1.0
ALLOWED_SECONDS = 10 * PROMISED_SECONDS

OF_KEY = "WHERE digest = ?"
OF_OWNER = "(SELECT owner_id FROM cabinet_key WHERE digest = ?)"


def change(statement: str, *values: object) -> Callable[[Server, bytes], None]:
    def apply(site: Server, digest: bytes) -> None:
        site.database.rows(statement, *values, digest)

    return apply


def revoke(site: Server, digest: bytes) -> None:
    now = site.database.moment(0)
    site.database.rows(f"UPDATE cabinet_key SET revoked_at = ? {OF_KEY}", now, digest)


def let_expire(site: Server, digest: bytes) -> None:
    soon = site.database.moment(0)
    site.database.rows(f"UPDATE cabinet_key SET expires_at = ? {OF_KEY}", soon, digest)


def rotate(overlap: str) -> Callable[[Server, bytes], None]:
    def apply(site: Server, digest: bytes) -> None:
        number = site.database.value(f"SELECT id FROM cabinet_key {OF_KEY}", digest)
        command = ("key", "rotate", str(number), "--overlap", overlap, "--yes")
        new = models(site.endpoint, site.run(*command).strip())
        with one_connection_per_worker(site) as connections:
            assert [ask(each, new) for each in connections] == [200, 200]

    return apply


def delete_account(site: Server, digest: bytes) -> None:
    owner = f"SELECT email FROM cabinet_user WHERE id = {OF_OWNER}"
    site.run("account", "delete", site.database.value(owner, digest), "--yes")


ENDINGS = {
    "revoked": revoke,
    "expired": let_expire,
    "rotated": rotate("now"),
    "rotated with an overlap": rotate("1s"),
    "account deactivated": change(
        f"UPDATE cabinet_user SET is_active = ? WHERE id = {OF_OWNER}", False
    ),
    "address not confirmed": change(
        f"UPDATE account_emailaddress SET verified = ? WHERE user_id = {OF_OWNER}",
        False,
    ),
    "another address is primary": change(
        f'UPDATE account_emailaddress SET "primary" = ? WHERE user_id = {OF_OWNER}',
        False,
    ),
    "account deleted": delete_account,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ended_key_is_refused_by_every_worker_within_one_second(site, ending):
    [key] = site.database.new_keys(1)
    raw = models(site.endpoint, key)
    with one_connection_per_worker(site) as connections:
        assert [ask(each, raw) for each in connections] == [200, 200]
        ENDINGS[ending](site, sha256(key.encode()).digest())
        changed_at = time.monotonic()
        for connection in connections:
            left = changed_at + ALLOWED_SECONDS - time.monotonic()
            wait_until(lambda c=connection: ask(c, raw) == 401, "refused", left)
        # A new connection gets the same answer.
        assert exchange(site.endpoint, raw).status == 401


def test_keys_that_take_the_ids_of_others_in_a_restore_are_not_mixed_up(site):
    lost, first, second = site.database.new_keys(3)
    restored = keys.mint()
    new_owners = {id_of(site, lost): restored}
    new_owners |= {id_of(site, first): second, id_of(site, second): first}

    with one_connection_per_worker(site) as connections:
        asked = {key: models(site.endpoint, key) for key in (lost, first, second)}
        for connection in connections:
            assert [ask(connection, raw) for raw in asked.values()] == [200] * 3
        restore(site, new_owners)
        # The workers have not looked their keys up again yet.
        for connection in connections:
            assert ask(connection, models(site.endpoint, restored)) == 200
            assert ask(connection, asked[first]) == 200
        site.revoke_key(second)
        for raw in (asked[lost], asked[second]):
            for each in connections:
                wait_until(
                    lambda c=each, r=raw: ask(c, r) == 401, "refused", ALLOWED_SECONDS
                )

    wait_until(
        lambda: site.database.usage(restored) == {("models", ""): 2},
        lambda: f"its own usage is written, not {site.database.usage(restored)}",
    )
    found = metrics(site.ops_url)
    assert (found["worker_deaths_total"], found["round_errors_total"]) == (0, 0)


def id_of(site: Server, key: str) -> int:
    digest = sha256(key.encode()).digest()
    return int(site.database.value(f"SELECT id FROM cabinet_key {OF_KEY}", digest))


def restore(site: Server, new_owners: dict[int, str]) -> None:
    """Give ids to other keys in one transaction, as a restore does."""
    mark = "?" if site.database.is_sqlite else "%s"
    change = f"UPDATE cabinet_key SET digest = {mark} WHERE id = {mark}"
    forget = f"DELETE FROM cabinet_usage WHERE key_id = {mark}"
    free = [(number.to_bytes(32), number) for number in new_owners]
    taken = [(keys.digest(key.encode()), number) for number, key in new_owners.items()]
    with site.database.connected() as connection:
        connection.execute("BEGIN")
        for row in (*free, *taken):
            connection.execute(change, row)
        # Last, because workers may write usage until the keys are changed.
        for number in new_owners:
            connection.execute(forget, (number,))
        connection.execute("COMMIT")


def ask(connection: Connection, raw: bytes) -> int:
    connection.send(raw)
    return connection.read_answer().status
