"""Creating, deactivating and deleting accounts through the services."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from allauth.account.models import EmailAddress
from django.db import IntegrityError, connection, transaction

from readback.cabinet.accounts import selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import JournalEntry, Key, Usage, User
from tests.cabinet.owners import entry, used
from tests.cabinet.parallel import in_parallel
from tests.cabinet.which_database import BOTH
from tests.support.waiting import PATIENCE, wait_until

DATABASES = BOTH

pytestmark = pytest.mark.usefixtures("database")

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_an_address_that_another_account_has_confirmed_stays_with_it():
    bob = account_services.account_create("bob@example.org", confirmed=True)
    EmailAddress.objects.create(user=bob, email="alice@example.org", verified=True)
    mallory = account_services.account_create("alice@example.org")

    with pytest.raises(ServiceError, match="another account"):
        account_services.account_confirm(mallory)
    assert not selectors.account_is_confirmed(mallory)


def test_an_address_has_one_account_regardless_of_case():
    account_services.account_create("alice@example.org")

    with pytest.raises(ServiceError, match="already exists"):
        account_services.account_create("Alice@Example.org")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(email="ALICE@EXAMPLE.ORG")
    assert User.objects.count() == 1


def test_deleting_an_account_deletes_its_data_and_nothing_else():
    for email in ("alice@example.org", "bob@example.org"):
        account = account_services.account_create(email, confirmed=True)
        key = key_services.key_create(account).key
        new = key_services.key_rotate(key, timedelta(days=1)).key
        used(new, 3)
        entry(new)

    account_services.account_delete(selectors.account_find("alice@example.org"))

    bob = User.objects.get()
    assert bob.email == "bob@example.org"
    assert Key.objects.count() == 2  # one was rotated, and the other replaced it
    for model in (EmailAddress, Usage, JournalEntry):
        assert model.objects.count() == 1, model


def test_deleting_waits_for_rows_that_the_api_is_writing(database):
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    alice = account_services.account_create("alice@example.org", confirmed=True)
    key = key_services.key_create(alice).key

    with ThreadPoolExecutor(1) as pool, psycopg.connect(database) as api:
        api.execute("SELECT 1 FROM cabinet_key WHERE id = %s FOR KEY SHARE", [key.pk])
        deletion = pool.submit(_deleted, alice)
        _wait_for_a_blocked_lock()
        api.execute(
            "INSERT INTO cabinet_usage (key_id, hour, endpoint, code, requests)"
            " VALUES (%s, %s, 'chat', '', 1)",
            [key.pk, NOON],
        )
        api.commit()
        deletion.result(PATIENCE)

    assert not Usage.objects.exists() and not User.objects.exists()


def _deleted(account: User) -> None:
    try:
        account_services.account_delete(account)
    finally:
        connection.close()


def _wait_for_a_blocked_lock() -> None:
    with connection.cursor() as cursor:

        def one_waits() -> bool:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            return cursor.fetchone()[0] > 0

        wait_until(one_waits, "the deletion waits")


def test_an_account_is_found_by_any_form_of_its_address(database):
    plain = account_services.account_create(" Alice@Example.ORG ")
    assert plain.email == "alice@example.org"
    assert selectors.account_find("ALICE@example.org") == plain
    assert selectors.account_find("bob@example.org") is None
    made = account_services.account_create(" Alice@Пример.рф ", confirmed=True)

    assert made.email == "alice@xn--e1afmkfd.xn--p1ai"
    assert EmailAddress.objects.get(user=made).email == made.email
    for typed in ("alice@пример.рф", "ALICE@XN--E1AFMKFD.XN--P1AI"):
        assert selectors.account_find(typed) == made
    # The domain must not become strasse.de, which belongs to someone else.
    assert selectors.account_find("alice@straße.de") is None
    with pytest.raises(account_services.ServiceError, match="xn--"):
        account_services.account_create("alice@straße.de")


def test_the_last_operator_stays_even_if_two_deactivate_each_other(database):
    operators = [
        account_services.account_create(f"{name}@example.org", confirmed=True)
        for name in ("alice", "bob")
    ]
    User.objects.update(is_staff=True)
    waiting = iter(operators)

    def deactivate() -> bool:
        try:
            account_services.account_deactivate(User.objects.get(pk=next(waiting).pk))
        except ServiceError:
            return False
        return True

    assert sorted(in_parallel(deactivate, 2)) == [False, True]
    [last] = User.objects.filter(is_active=True)
    for change in ("account_deactivate", "account_delete"):
        with pytest.raises(ServiceError, match="last operator"):
            getattr(account_services, change)(last)
    # An account that is not an operator, or is inactive, is never the last operator.
    [inactive] = User.objects.filter(is_active=False)
    account_services.account_delete(inactive)
