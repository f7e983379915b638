"""What is decided about a key or an account holds at once, in every worker.

The rows are changed by plain SQL, behind the back of the cabinet: whoever changes
them and however, the API notices.
"""

import sqlite3
import time
from collections.abc import Callable
from hashlib import sha256

import psycopg
import pytest

from tests.scale.conftest import Place
from tests.support.load import models
from tests.support.processes import one_connection_per_worker
from tests.support.waiting import wait_until
from tests.support.wire import Connection, exchange

PROMISED_SECONDS = 1.0

OF_KEY = "WHERE digest = ?"
OF_OWNER = "(SELECT owner_id FROM cabinet_key WHERE digest = ?)"


def change(statement: str, *values: object) -> Callable[[Place, bytes], None]:
    def apply(place: Place, digest: bytes) -> None:
        place.database.rows(statement, *values, digest)

    return apply


def revoke(place: Place, digest: bytes) -> None:
    now = place.database.moment(0)
    place.database.rows(f"UPDATE cabinet_key SET revoked_at = ? {OF_KEY}", now, digest)


def let_expire(place: Place, digest: bytes) -> None:
    soon = place.database.moment(0)
    place.database.rows(f"UPDATE cabinet_key SET expires_at = ? {OF_KEY}", soon, digest)


def delete_account(place: Place, digest: bytes) -> None:
    database = place.database
    owner = database.value(f"SELECT owner_id FROM cabinet_key {OF_KEY}", digest)
    # A worker may be writing what the key did last: then once more.
    for attempt in range(20):
        try:
            for statement in DELETIONS:
                database.rows(statement, owner)
        except (psycopg.IntegrityError, sqlite3.IntegrityError):
            assert attempt < 19, "the account cannot be deleted"
        else:
            return


OF_ITS_KEYS = "WHERE key_id IN (SELECT id FROM cabinet_key WHERE owner_id = ?)"
DELETIONS = (
    f"DELETE FROM cabinet_usage {OF_ITS_KEYS}",
    f"DELETE FROM cabinet_journalentry {OF_ITS_KEYS}",
    "DELETE FROM cabinet_key WHERE owner_id = ?",
    "DELETE FROM account_emailaddress WHERE user_id = ?",
    "DELETE FROM cabinet_user WHERE id = ?",
)

ENDINGS = {
    "revoked": revoke,
    "expired": let_expire,
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
def test_a_key_that_ends_is_refused_by_every_worker_within_one_second(place, ending):
    [key] = place.new_keys(1)
    raw = models(place.endpoint, key)
    with one_connection_per_worker(place.server) as connections:
        assert [ask(each, raw) for each in connections] == [200, 200]
        ENDINGS[ending](place, sha256(key.encode()).digest())
        changed_at = time.monotonic()
        for connection in connections:
            left = changed_at + PROMISED_SECONDS - time.monotonic()
            wait_until(lambda c=connection: ask(c, raw) == 401, "refused", left)
        # And on a new connection, too.
        assert exchange(place.endpoint, raw).status == 401


def test_an_account_that_is_activated_again_works_again(place):
    [key] = place.new_keys(1)
    raw = models(place.endpoint, key)
    digest = sha256(key.encode()).digest()
    place.database.rows(
        f"UPDATE cabinet_user SET is_active = ? WHERE id = {OF_OWNER}", False, digest
    )
    with one_connection_per_worker(place.server) as connections:
        assert [ask(each, raw) for each in connections] == [401, 401]
        place.database.rows(
            f"UPDATE cabinet_user SET is_active = ? WHERE id = {OF_OWNER}", True, digest
        )
        changed_at = time.monotonic()
        for connection in connections:
            left = changed_at + PROMISED_SECONDS - time.monotonic()
            wait_until(lambda c=connection: ask(c, raw) == 200, "accepted", left)


def test_a_new_key_is_accepted_on_its_first_use_by_every_worker(place):
    with one_connection_per_worker(place.server) as connections:
        for connection in connections:
            [key] = place.new_keys(1)
            assert ask(connection, models(place.endpoint, key)) == 200


def test_a_key_from_the_command_line_is_accepted_on_its_first_use(place):
    key = place.server.new_key("first use")
    assert exchange(place.endpoint, models(place.endpoint, key)).status == 200


def ask(connection: Connection, raw: bytes) -> int:
    connection.send(raw)
    return connection.read_answer().status
