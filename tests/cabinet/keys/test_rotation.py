"""Rotating a key: the new key has the same settings, and the old one expires."""

import logging
from datetime import timedelta

import pytest
from django.utils import timezone

from readback import keys
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.keys.services import AlreadyRotated
from readback.cabinet.models import Key, KeyState
from readback.contract import MAX_ACTIVE_KEYS
from tests.cabinet.keys.test_new_key_page import shown_key
from tests.cabinet.outgoing import wait_until_sent
from tests.cabinet.owners import ALICE, logged_in
from tests.cabinet.parallel import in_parallel
from tests.cabinet.visitor import Visitor, words_of
from tests.cabinet.which_database import BOTH, ON_SQLITE
from tests.support import mailbox

DATABASES = BOTH

NOW, HOUR, DAY, WEEK = (timedelta(hours=hours) for hours in (0, 1, 24, 168))
SECOND = timedelta(seconds=1)


def ends_in(key: Key) -> timedelta:
    key.refresh_from_db()
    assert key.expires_at
    return key.expires_at - timezone.now()


def test_the_new_key_has_the_settings_of_the_old_one_and_both_work(alice, key):
    key_services.key_set_explanations(key, True)
    Key.objects.update(rehearsal="503 ok")

    new, text = key_services.key_rotate(key, WEEK)

    assert bytes(new.digest) == keys.digest(text.encode()) != bytes(key.digest)
    stored = Key.objects.get(pk=new.pk)
    assert (stored.label, stored.explains_refusals) == ("laptop", True)
    assert stored.rehearsal == "503 ok"
    assert (stored.expires_at, stored.last_used_at) == (None, None)
    assert WEEK - 60 * SECOND < ends_in(key) <= WEEK
    assert key.replaced_by == new
    assert set(selectors.keys_active(alice)) == {key, new}
    # Without an overlap, the old key ends at once.
    newest = key_services.key_rotate(new, NOW).key
    new.refresh_from_db()
    assert new.state is KeyState.REVOKED
    assert set(selectors.keys_active(alice)) == {key, newest}


@ON_SQLITE
def test_the_new_key_lives_as_long_as_the_old_one_was_meant_to(key):
    created = timezone.now() - 29 * DAY
    Key.objects.update(created_at=created, expires_at=created + 30 * DAY)
    key.refresh_from_db()
    end = key.expires_at

    new = key_services.key_rotate(key, WEEK).key

    assert 30 * DAY - 60 * SECOND < ends_in(new) <= 30 * DAY
    key.refresh_from_db()
    assert key.expires_at == end  # the overlap does not extend it


@ON_SQLITE
def test_an_overlap_has_a_longest_time(key):
    for overlap in (-SECOND, WEEK + SECOND):
        with pytest.raises(ServiceError, match="at most 7"):
            key_services.key_rotate(key, overlap)

    assert Key.objects.count() == 1


@ON_SQLITE
def test_a_rotated_key_cannot_be_rotated_again_but_the_new_one_can(key):
    new = key_services.key_rotate(key, DAY).key

    with pytest.raises(AlreadyRotated):
        key_services.key_rotate(key, DAY)

    key_services.key_rotate(new, DAY)
    assert Key.objects.count() == 3


def test_parallel_rotations_of_a_key_make_one_new_key(key):
    outcomes = in_parallel(lambda: key_services.key_rotate(key, DAY), 4)

    refused = [each for each in outcomes if isinstance(each, AlreadyRotated)]
    assert len(refused) == 3
    assert Key.objects.count() == 2


@ON_SQLITE
@pytest.mark.parametrize(
    "end",
    [
        key_services.key_revoke,
        lambda key: Key.objects.filter(pk=key.pk).update(expires_at=timezone.now()),
        lambda key: account_services.account_deactivate(key.owner),
        lambda key: key.owner.emailaddress_set.update(verified=False),
    ],
    ids=["revoked", "expired", "deactivated", "not confirmed"],
)
def test_a_key_that_does_not_work_cannot_be_rotated(key, end):
    end(key)

    with pytest.raises(ServiceError):
        key_services.key_rotate(key, DAY)

    assert Key.objects.count() == 1


def test_who_has_the_most_keys_can_rotate_all_of_them_at_once(alice):
    made = [key_services.key_create(alice).key for _ in range(MAX_ACTIVE_KEYS)]
    waiting = list(made)

    in_parallel(lambda: key_services.key_rotate(waiting.pop(), WEEK), MAX_ACTIVE_KEYS)

    assert selectors.keys_active(alice).count() == 2 * MAX_ACTIVE_KEYS
    current = selectors.keys_active(alice).filter(replaced_by=None)
    assert current.count() == MAX_ACTIVE_KEYS
    with pytest.raises(ServiceError, match="active keys"):
        key_services.key_create(alice)


def test_rotated_keys_that_still_work_are_limited_in_parallel_too(alice):
    made = [key_services.key_create(alice).key for _ in range(MAX_ACTIVE_KEYS)]
    renewed = [key_services.key_rotate(each, WEEK).key for each in made[:-1]]

    outcomes = in_parallel(lambda: key_services.key_rotate(renewed.pop(), WEEK), 3)

    refused = [each for each in outcomes if isinstance(each, ServiceError)]
    assert len(refused) == 2 and "let this key end now" in str(refused[0])
    assert selectors.keys_active(alice).count() == 2 * MAX_ACTIVE_KEYS
    # Without an overlap there is nothing to limit.
    key_services.key_rotate(renewed.pop(), NOW)
    assert selectors.keys_active(alice).count() == 2 * MAX_ACTIVE_KEYS


@ON_SQLITE
def test_the_owner_gets_one_mail_and_the_log_two_lines(alice, key, mails, caplog):
    wait_until_sent()
    mails.messages.clear()
    with caplog.at_level(logging.INFO, "readback.security"):
        new, text = key_services.key_rotate(key, HOUR)

    key.refresh_from_db()
    mail = mails.wait_for(ALICE, "rotated")
    wait_until_sent()
    assert len(mails.messages) == 1
    for part in (mailbox.text_of(mail), mailbox.html_of(mail)):
        assert f"{key} (laptop)" in part and str(new) in part
        assert f"works until {key.expires_at:%Y-%m-%d %H:%M} UTC" in part
    assert text not in mail.as_string() and "laptop" not in mail["Subject"]
    lines = [line for line in caplog.messages if '"event"' in line]
    assert f'"key_created", "account": {alice.pk}, "key": {new.pk}' in lines[0]
    assert f'"key_rotated", "account": {alice.pk}, "key": {key.pk}' in lines[1]
    assert not any("laptop" in line or keys.PREFIX in line for line in lines)


# The page


def rotate(visitor: Visitor, key: Key, overlap: str = "24"):
    return visitor.send(f"/keys/{key.pk}/rotate/", {"overlap": overlap})


@ON_SQLITE
def test_the_new_key_is_shown_once_also_after_a_second_click(alice, key):
    visitor = logged_in(alice)

    first, second = rotate(visitor, key), rotate(visitor, key)

    assert Key.objects.count() == 2
    path = first.headers["Location"]
    assert second.headers["Location"] == path
    page = visitor.get(path)
    new = Key.objects.get(digest=keys.digest(shown_key(page).encode()))
    key.refresh_from_db()
    assert path == f"/keys/{new.pk}/new/" and key.replaced_by == new
    until = f"which works until {key.expires_at:%Y-%m-%d %H:%M} UTC"
    assert until in words_of(page) and f"replaces {key}" in words_of(page)
    assert visitor.get(path).status_code == 302
    again = words_of(visitor.get(f"/keys/{key.pk}/rotate/"))
    assert "This key has already been rotated" in again
