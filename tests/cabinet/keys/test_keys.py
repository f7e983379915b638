"""Creating and revoking keys through the services."""

from datetime import timedelta

import pytest
from django.utils import timezone

from readback import keys
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import Key, KeyState, User
from readback.contract import MAX_ACTIVE_KEYS
from tests.cabinet.parallel import in_parallel
from tests.cabinet.which_database import BOTH

DATABASES = BOTH


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda user: user.emailaddress_set.update(verified=False), "not confirmed"),
        (lambda user: user.emailaddress_set.update(primary=False), "not confirmed"),
        (account_services.account_deactivate, "not active"),
        (account_services.account_delete, "no longer exists"),
    ],
    ids=["unconfirmed", "not the primary address", "deactivated", "deleted"],
)
def test_an_account_that_may_not_have_a_key_gets_none(alice, change, why):
    user = User.objects.get()
    change(alice)

    for create in (key_services.key_create, key_services.key_create_if_missing):
        with pytest.raises(ServiceError, match=why):
            create(user, "ci")


def test_a_revoked_or_expired_key_makes_room_for_another(alice):
    created = [key_services.key_create(alice).key for _ in range(MAX_ACTIVE_KEYS)]
    key_services.key_revoke(created[0])
    Key.objects.filter(pk=created[1].pk).update(expires_at=timezone.now())

    key_services.key_create(alice)
    key_services.key_create(alice)

    with pytest.raises(ServiceError):
        key_services.key_create(alice)


def test_the_limit_holds_for_parallel_requests(alice):
    outcomes = in_parallel(lambda: key_services.key_create(alice), MAX_ACTIVE_KEYS * 2)

    refused = [outcome for outcome in outcomes if isinstance(outcome, ServiceError)]
    assert len(refused) == MAX_ACTIVE_KEYS
    assert selectors.keys_active(alice).count() == MAX_ACTIVE_KEYS


def test_revoking_is_permanent_and_repeating_it_is_harmless(alice):
    key = key_services.key_create(alice).key

    key_services.key_revoke(key)
    first = Key.objects.get().revoked_at
    key_services.key_revoke(key)

    assert first is not None
    assert Key.objects.get().revoked_at == first == key.revoked_at
    assert key.state is KeyState.REVOKED
    assert not key.is_active


def test_a_key_can_expire(alice):
    soon = timezone.now() + timedelta(minutes=1)
    key = key_services.key_create(alice, expires_at=soon).key

    assert key.state is KeyState.ACTIVE
    assert key.is_active and list(selectors.keys_active(alice)) == [key]
    Key.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    key.refresh_from_db()
    assert key.state is KeyState.EXPIRED
    assert not key.is_active and not selectors.keys_active(alice).exists()


def test_a_key_cannot_expire_in_the_past(alice):
    with pytest.raises(ServiceError, match="in the future"):
        key_services.key_create(alice, expires_at=timezone.now())


@pytest.mark.parametrize(
    ("label", "stored"),
    [
        *((name, name) for name in ("", "x" * 60, "Ноутбук", "<b>&amp;")),
        *((name, name) for name in ("می\u200cخواهم", "👩\u200d🚀")),
        ("\u200d \u200c", ""),
    ],
)
def test_a_name_is_stored_unchanged_unless_it_is_invisible(alice, label, stored):
    assert key_services.key_create(alice, f" {label} ").key.label == stored


def test_a_key_that_is_missing_is_created_once(alice):
    outcomes = in_parallel(lambda: key_services.key_create_if_missing(alice, "ci"), 4)

    [text] = [text for _key, text in outcomes if text]
    key = Key.objects.get()
    assert {found for found, _text in outcomes} == {key}
    assert bytes(key.digest) == keys.digest(text.encode())


def test_a_key_is_missing_if_it_was_revoked_or_rotated(alice):
    first = key_services.key_create(alice, "ci").key
    key_services.key_revoke(first)
    second, text = key_services.key_create_if_missing(alice, " ci ")
    assert text and second != first

    third = key_services.key_rotate(second, timedelta(hours=1)).key
    assert key_services.key_create_if_missing(alice, "ci") == (third, None)
    key_services.key_rename(third, "else")
    assert key_services.key_create_if_missing(alice, "ci")[1]
    with pytest.raises(ServiceError, match="name"):
        key_services.key_create_if_missing(alice, " ")
