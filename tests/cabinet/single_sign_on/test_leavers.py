"""Leavers: who is told and deactivated, when, and who never is."""

from datetime import timedelta

import pytest
from allauth.socialaccount.models import SocialAccount
from django.utils import timezone

from readback.cabinet.accounts import services
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.mail.outbox import Sender
from readback.cabinet.models import OutgoingMail, User
from readback.cabinet.single_sign_on import leavers
from tests.cabinet.accounts.test_sessions import clock
from tests.cabinet.outgoing import wait_until_sent
from tests.cabinet.owners import ALICE, BOB, account
from tests.cabinet.parallel import in_parallel
from tests.cabinet.single_sign_on.test_single_sign_on import (
    configured,
    enter,
    events,
    provider,
    running_provider,
)
from tests.cabinet.visitor import Visitor
from tests.support.mailbox import link_in, text_of

__all__ = ["clock", "events", "provider", "running_provider"]

ISSUER = "https://login.example.org"
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def leaving(unsent_mails):
    with configured(oidc_issuer=ISSUER, oidc_name="Example Staff", oidc_leave_days=30):
        yield


def person(email: str = ALICE, *, absent: timedelta = 400 * DAY) -> User:
    """Return an account whose owner logged in with the provider some time ago."""
    made = account(email)
    SocialAccount.objects.create(user=made, provider=ISSUER, uid=email)
    seen(made, absent)
    return made


def seen(made: User, ago: timedelta = timedelta()) -> None:
    SocialAccount.objects.filter(user=made).update(last_login=timezone.now() - ago)


def told() -> int:
    return OutgoingMail.objects.filter(template__endswith="account_leaves").count()


def is_active(made: User) -> bool:
    made.refresh_from_db()
    return made.is_active


def test_turned_on_it_gives_everybody_a_week_before_keys_stop(clock, events):
    alice = person()
    key = key_services.key_create(alice).key

    for _ in range(3):
        assert not leavers.work()
    assert is_active(alice) and told() == 1
    clock.ahead += 6 * DAY
    leavers.work()
    assert is_active(alice) and told() == 1
    clock.ahead += 1 * DAY
    leavers.work()

    assert not is_active(alice) and told() == 1
    key.refresh_from_db()
    assert not key_selectors.key_is_accepted(key)
    assert events.names[-2:] == ["account_deactivated", "leaver_deactivated"]


def test_somebody_who_stays_away_is_told_a_week_before_the_end(clock):
    alice = person(absent=timedelta())
    days_told, last_day = [], 0
    for day in range(60):
        before = told()
        leavers.work()
        days_told += [day] if told() > before else []
        last_day = day if is_active(alice) else last_day
        clock.ahead += DAY

    assert days_told == [23]
    assert last_day == 29


def test_nobody_is_told_whom_it_does_not_concern():
    account("no-provider@example.org")
    person("recent@example.org", absent=20 * DAY)
    other = person("other-issuer@example.org")
    SocialAccount.objects.filter(user=other).update(provider="https://old.example")
    services.account_deactivate(person("inactive@example.org"))
    person("future@example.org", absent=-400 * DAY)  # the clock was wrong

    leavers.work()
    with configured(oidc_leave_days=0):
        person("off@example.org")
        leavers.work()

    assert told() == 0
    assert leavers.waiting().count() == leavers.left().count() == 0


def test_a_login_with_the_provider_ends_it(provider, clock, unsent_mails):
    with configured(oidc_leave_days=30):
        provider.add("alice", ALICE)
        enter(Visitor(), provider, "alice")
        alice = User.objects.get(email=ALICE)
        seen(alice, 400 * DAY)
        leavers.work()
        assert leavers.waiting().get() == alice

        enter(Visitor(), provider, "alice")
        assert not leavers.waiting().exists()
        clock.ahead += 8 * DAY
        leavers.work()

        assert is_active(alice) and told() == 1


def test_a_person_who_comes_back_at_the_last_moment_stays(clock):
    alice = person()
    leavers.work()
    clock.ahead += 8 * DAY
    SocialAccount.objects.update(last_login=timezone.now())
    # Another cabinet has found the account just before.
    assert not leavers._deactivate(alice, timezone.now())
    assert is_active(alice)


@pytest.mark.parametrize("jump", [15 * DAY, 400 * DAY, -400 * DAY])
def test_an_old_notice_of_a_backup_or_another_clock_is_given_again(clock, jump):
    alice = person(absent=2000 * DAY)
    leavers.work()
    clock.ahead += jump
    leavers.work()

    assert is_active(alice) and told() == 2
    clock.ahead += 7 * DAY
    leavers.work()
    assert not is_active(alice)


def test_who_is_activated_again_gets_a_new_notice(clock):
    alice = person()
    leavers.work()
    clock.ahead += 7 * DAY
    leavers.work()
    assert leavers.left().get() == alice

    services.account_activate(alice)
    assert not leavers.left().exists()
    leavers.work()
    assert is_active(alice) and told() == 2


def test_the_last_operator_stays(clock):
    for email in (ALICE, BOB):
        person(email)
    User.objects.update(is_staff=True, is_superuser=True)
    leavers.work()
    clock.ahead += 7 * DAY
    leavers.work()

    assert User.objects.filter(is_active=True).count() == 1


def test_any_number_of_cabinets_tells_and_deactivates_once(clock, monkeypatch, events):
    monkeypatch.setattr(leavers, "BATCH", 2)
    for number in range(5):
        person(f"bob{number}@example.org")

    def all_rounds() -> None:
        while leavers.work():
            pass

    assert in_parallel(all_rounds, 4) == [None] * 4
    assert told() == 5
    clock.ahead += 7 * DAY
    assert in_parallel(all_rounds, 4) == [None] * 4
    assert not User.objects.filter(is_active=True).exists()
    assert events.names.count("leaver_deactivated") == 5
    assert told() == 5


def test_a_cabinet_whose_clock_is_a_little_late_does_not_tell_again(clock):
    person()
    clock.ahead += timedelta(seconds=30)
    leavers.work()
    clock.ahead -= timedelta(seconds=30)
    leavers.work()

    assert told() == 1


def test_a_sender_does_the_round_and_the_mail_leads_to_the_login(mails):
    alice = person()
    alice.language = "ru"
    alice.save()
    Sender(lambda mail: None, leavers.work)._remind()

    mail = mails.wait_for(ALICE, "Войдите")
    assert "Example Staff" in text_of(mail)
    assert link_in(mail).endswith("/accounts/login/")
    wait_until_sent()


def test_a_mail_that_waits_is_not_sent_to_somebody_who_has_come_back():
    from readback.cabinet.accounts.mail_rendering import render

    alice = person()
    leavers.work()
    mail = OutgoingMail.objects.get(template__endswith="account_leaves")
    assert render(mail)
    leavers.account_returned(alice)
    assert render(OutgoingMail.objects.get(pk=mail.pk)) is None
