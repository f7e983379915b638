"""Reminders that a key in use expires soon: who gets them, when, and how often."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.mail import notices
from readback.cabinet.models import Key, OutgoingMail, User
from readback.cabinet.storage.sealing import unseal
from tests.cabinet.accounts.test_sessions import clock
from tests.cabinet.outgoing import mail_server_at, sending, wait_until_sent
from tests.cabinet.owners import ALICE, account
from tests.cabinet.parallel import in_parallel
from tests.cabinet.visitor import CABINET
from tests.cabinet.which_database import BOTH, ON_SQLITE
from tests.support.mailbox import html_of, link_in, text_of

DATABASES = BOTH

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

__all__ = ["clock"]


@pytest.fixture
def alice(database) -> User:
    return account()


def a_key(
    alice: User,
    left: timedelta,
    lifetime: timedelta = 30 * DAY,
    unused: timedelta | None = HOUR,
) -> Key:
    """Return a key that was last used `unused` ago, and that expires after `left`."""
    key = key_services.key_create(alice, "laptop").key
    now = timezone.now()
    key.expires_at = now + left
    key.created_at = key.expires_at - lifetime
    key.last_used_at = None if unused is None else now - unused
    key.save()
    return key


def key_of(mail: OutgoingMail) -> int:
    """Return the id of the key that an e-mail is about, from its link."""
    return int(re.search(r"/keys/(\d+)/", unseal(mail.sealed))[1])


def added() -> int:
    """Add due reminders, and return how many were added since the test began."""
    notices.add_due_reminders()
    return OutgoingMail.objects.filter(template__endswith="key_expires").count()


def test_reminders_are_due_7_days_and_1_day_before_the_end(alice, clock):
    """A key with a short life has fewer reminders."""
    expected = {365: [7, 1], 30: [7, 1], 7: [1], 3: [1], 1: []}
    made = {
        a_key(alice, 8 * DAY - timedelta(seconds=1), days * DAY).pk: days
        for days in expected
    }
    reminded: dict[int, list[int]] = {days: [] for days in expected}
    for half_days_left in range(16, -2, -1):
        for _ in range(2):  # the second call adds nothing
            notices.add_due_reminders()
        for mail in OutgoingMail.objects.filter(template__endswith="key_expires"):
            days = made[key_of(mail)]
            reminded[days].append(half_days_left / 2)
            mail.delete()
        clock.ahead += 12 * HOUR

    assert reminded == expected


@pytest.mark.parametrize(("left", "later"), [(3 * DAY, 2), (12 * HOUR, 1)])
def test_after_a_downtime_a_missed_reminder_is_late_but_never_double(
    alice, clock, left, later
):
    a_key(alice, left)

    assert added() == 1
    clock.ahead += left - HOUR
    assert added() == later


def test_there_is_no_reminder_of_a_key_that_does_not_need_one(alice):
    key_services.key_revoke(a_key(alice, 5 * DAY))
    a_key(alice, 5 * DAY, unused=None)
    a_key(alice, 5 * DAY, unused=notices.IN_USE + HOUR)
    a_key(alice, -HOUR)
    a_key(alice, 8 * DAY)
    Key.objects.filter(pk=a_key(alice, DAY).pk).update(expires_at=None)
    a_key(bob := account("bob@example.org"), 5 * DAY)
    account_services.account_deactivate(bob)
    for name, change in {"x": {"verified": False}, "y": {"primary": False}}.items():
        a_key(other := account(f"{name}@example.org"), 5 * DAY)
        other.emailaddress_set.update(**change)

    assert added() == 0
    a_key(alice, 5 * DAY)
    assert added() == 1


def test_another_expiry_starts_anew(alice, clock):
    key = a_key(alice, 5 * DAY)
    assert added() == 1

    Key.objects.update(expires_at=key.expires_at + 30 * DAY)
    assert added() == 1
    clock.ahead += 29 * DAY
    Key.objects.update(last_used_at=timezone.now())
    assert added() == 2


def test_a_rotated_key_has_a_reminder_only_while_a_program_still_uses_it(alice, clock):
    quiet, busy = a_key(alice, 60 * DAY, 90 * DAY), a_key(alice, 60 * DAY, 90 * DAY)
    for key in (quiet, busy):
        key_services.key_rotate(key, 7 * DAY)
    assert added() == 0  # the notice of the rotation says when they expire

    clock.ahead += 6 * DAY + HOUR
    Key.objects.filter(pk=busy.pk).update(last_used_at=timezone.now() - HOUR)
    assert added() == 1
    [mail] = OutgoingMail.objects.filter(template__endswith="key_expires")
    busy.refresh_from_db()
    assert key_of(mail) == busy.pk
    assert str(busy.replaced_by) in unseal(mail.sealed).encode().decode(
        "unicode_escape"
    )


def test_several_senders_add_each_reminder_once(alice):
    made = [a_key(alice, 5 * DAY) for _ in range(5)]
    made += [a_key(alice, HOUR) for _ in range(3)]

    assert in_parallel(notices.add_due_reminders, 4) == [None] * 4

    mails = OutgoingMail.objects.filter(template__endswith="key_expires")
    told = sorted(key_of(mail) for mail in mails)
    assert told == [key.pk for key in made]


def test_a_sender_reminds_and_the_mail_says_what_to_do(alice, mail_server):
    mail_server.messages.clear()
    key = a_key(alice, 5 * DAY)

    with mail_server_at(mail_server.url), sending():
        mail = mail_server.wait_for(ALICE, "expires on")
        wait_until_sent()

    assert len([m for m in mail_server.to(ALICE) if "expires" in m["Subject"]]) == 1
    assert mail["Subject"].endswith(f"{key.expires_at:%Y-%m-%d}")
    assert link_in(mail) == f"{CABINET}/keys/{key.pk}/"
    for part in (text_of(mail), html_of(mail)):
        assert f"{key} (laptop)" in part
        assert f"expires on {key.expires_at:%Y-%m-%d %H:%M} UTC" in part
        assert f"last used on {key.last_used_at:%Y-%m-%d %H:%M} UTC" in part
        assert "rotate it" in part


@ON_SQLITE
def test_a_reminder_of_seven_days_is_not_sent_on_the_last_day(alice):
    a_key(alice, 5 * DAY)
    added()

    mail = OutgoingMail.objects.get(template__endswith="key_expires")
    assert abs(mail.expires_at - timezone.now() - 4 * DAY) < HOUR
