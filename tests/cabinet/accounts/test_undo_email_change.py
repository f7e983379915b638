"""The link in the mail to the old address: the account gets that address back."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction
from django.test import override_settings
from django.utils import timezone

from readback.cabinet.accounts import email_changes
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.email_changes import UndoToken
from readback.cabinet.keys import services as key_services
from readback.cabinet.mail.outbox import EMAIL_CHANGED, PASSWORD_RESET
from readback.cabinet.models import OutgoingMail, User
from tests.cabinet.accounts.test_password_reset import choose
from tests.cabinet.accounts.test_security_log import LogLines, _everything_stored
from tests.cabinet.outgoing import wait_until_sent
from tests.cabinet.owners import account, logged_in
from tests.cabinet.parallel import in_parallel
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH
from tests.support.mailbox import html_of, link_in
from tests.support.mailbox import text_of as mail_text_of

DATABASES = ["sqlite"]

ALICE = "alice@example.org"
MALLORY, OTHER = "mallory@example.net", "mallory@example.com"
EMAIL = "/accounts/email/"
NEW_PASSWORD = "another lamp, another harbour"
DAY = timedelta(days=1)


@pytest.fixture
def alice(database) -> User:
    return account_services.account_create(ALICE, PASSWORD, confirmed=True)


def changed(account: User, to: str = MALLORY) -> str:
    """Change the address as a confirmation does; return the link that undoes it."""
    account.refresh_from_db()
    token = UndoToken(account.pk, account.email, timezone.now().timestamp())
    EmailAddress.objects.filter(user=account).update(email=to)
    User.objects.filter(pk=account.pk).update(email=to)
    return f"/account/undo/{token.text}/"


def token_of(link: str) -> UndoToken:
    token = email_changes.read_undo_token(link.rstrip("/").rpartition("/")[2])
    assert token is not None
    return token


def addresses_of(account: User) -> list[tuple[str, bool, bool]]:
    rows = EmailAddress.objects.filter(user=account)
    return list(rows.values_list("email", "verified", "primary"))


def assert_dead(link: str) -> None:
    for page in (Visitor().get(link), Visitor().post(link)):
        assert page.status_code == 200
        assert "This link no longer works" in words_of(page)


def mallory_with(mails: Any) -> Visitor:
    """Return Mallory, who knows Alice's password and waits for a confirmation."""
    mallory = Visitor(address="203.0.113.66")
    mallory.log_in(ALICE)
    mallory.send(EMAIL, {"email": MALLORY, "action_add": ""})
    mails.wait_for(MALLORY, "Confirm")
    return mallory


@ON_BOTH
def test_alice_gets_her_account_back(alice, mails):
    key = key_services.key_create(alice, "laptop").key
    mallory = mallory_with(mails)
    mallory.send(link_in(mails.wait_for(MALLORY, "Confirm")))
    changed_mail = mails.wait_for(ALICE, "address at Readback has been changed")

    visitor = Visitor()
    link = link_in(changed_mail)
    page = words_of(visitor.get(link))
    assert ALICE in page and MALLORY not in page
    assert "Your keys keep working" in page
    response = visitor.send(link)

    assert response.headers["Location"] == "/accounts/password/reset/done/"
    done = visitor.get(response.headers["Location"])
    assert "The change has been undone" in words_of(done)
    assert f"on its way to {ALICE}" in words_of(done)
    assert "that you entered" not in words_of(done)
    assert addresses_of(alice) == [(ALICE, True, True)]
    alice.refresh_from_db()
    key.refresh_from_db()
    assert alice.email == ALICE and key.is_active
    # Nobody can log in until Alice has set a new password.
    assert not mallory.is_logged_in
    for address in (ALICE, MALLORY):
        intruder = Visitor()
        intruder.log_in(address)
        assert not intruder.is_logged_in
    choose(visitor, link_in(mails.wait_for(ALICE, "Set a new password")))
    visitor.log_in(ALICE, NEW_PASSWORD)
    assert visitor.is_logged_in
    _assert_reveals_nothing(mails.wait_for(MALLORY, "changed back"))


def _assert_reveals_nothing(notice: Any) -> None:
    """The mailbox that lost the account learns nothing about Alice."""
    for part in (mail_text_of(notice), html_of(notice)):
        for secret in ("http", ALICE, "203.0.113.7"):
            assert secret not in part


def test_opening_the_link_changes_nothing(alice):
    link = changed(alice)
    before = _everything_stored()

    visitor = Visitor()
    for method in (visitor.client.get, visitor.client.head):
        assert method(link).status_code == 200

    assert _everything_stored() == before


def test_the_first_address_is_restored_after_several_changes(alice):
    link = changed(alice)
    later = changed(alice, OTHER)

    Visitor().send(link)

    assert addresses_of(alice) == [(ALICE, True, True)]
    # Mallory's own link is void, also when Alice changes the address again.
    assert_dead(later)
    EmailAddress.objects.update(email="alice@example.com")
    User.objects.update(email="alice@example.com")
    assert_dead(later)
    assert_dead(link)


def test_undoing_a_later_change_leaves_the_earlier_link_alive(alice):
    link = changed(alice)

    Visitor().send(changed(alice, OTHER))
    assert addresses_of(alice) == [(MALLORY, True, True)]
    Visitor().send(link)

    assert addresses_of(alice) == [(ALICE, True, True)]


def test_a_link_works_once(alice):
    link = changed(alice)
    Visitor().send(link)
    assert_dead(link)

    assert OutgoingMail.objects.filter(template=PASSWORD_RESET).count() == 1


@ON_BOTH
def test_of_two_clicks_at_once_one_counts(alice):
    token = token_of(changed(alice))

    results = in_parallel(lambda: email_changes.email_change_undo(token), 4)

    undone = [each for each in results if isinstance(each, User)]
    dead = [each for each in results if isinstance(each, email_changes.DeadLinkError)]
    assert (len(undone), len(dead)) == (1, 3)
    assert addresses_of(alice) == [(ALICE, True, True)]


def test_forged_and_expired_links_are_refused_calmly(alice):
    link = changed(alice)
    token = token_of(link)
    body, _, signature = link.rstrip("/").rpartition(":")
    forged = [
        link[:-5] + "/",
        f"{body}x:{signature}/",
        "/account/undo/x/",
        "/account/undo/%00:%F0%9F%94%91/",
        f"/account/undo/{'a:' * 2000}/",
    ]
    old = token._replace(changed_at=token.changed_at - 7 * DAY.total_seconds())
    other = [old, token._replace(account=token.account + 1)]
    for each in [*forged, *(f"/account/undo/{each.text}/" for each in other)]:
        assert_dead(each)
    assert addresses_of(alice) == [(MALLORY, True, True)]


def test_a_link_lives_for_seven_days(alice):
    token = token_of(changed(alice))
    almost = token._replace(changed_at=token.changed_at - 6.9 * DAY.total_seconds())

    Visitor().send(f"/account/undo/{almost.text}/")

    assert addresses_of(alice) == [(ALICE, True, True)]


def test_links_of_deleted_and_deactivated_accounts_are_dead(alice):
    link = changed(alice)
    account_services.account_deactivate(alice)
    assert_dead(link)
    account_services.account_delete(alice)
    assert_dead(link)


def test_an_address_that_belongs_to_another_account_stays_there(alice):
    link = changed(alice)
    other = account_services.account_create(ALICE, NEW_PASSWORD, confirmed=True)

    page = Visitor().send(link)

    assert f"{ALICE} belongs to another account now" in words_of(page)
    assert addresses_of(alice) == [(MALLORY, True, True)]
    assert addresses_of(other) == [(ALICE, True, True)]
    assert Visitor().log_in(MALLORY).status_code == 302  # the password still works


@ON_BOTH
def test_nobody_can_block_the_link_by_signing_up(alice):
    link = changed(alice)
    Visitor().sign_up(ALICE, NEW_PASSWORD)
    assert User.objects.count() == 2

    Visitor().send(link)

    assert User.objects.get() == alice
    assert addresses_of(alice) == [(ALICE, True, True)]


def test_nobody_can_block_the_link_by_asking_for_mails(alice):
    link = changed(alice)
    with override_settings(ACCOUNT_RATE_LIMITS={"mail_to": "1/h/key"}):
        for expected in (302, 429):
            page = Visitor().send("/accounts/password/reset/", {"email": ALICE})
            assert page.status_code == expected
        Visitor().send(link)

    reset = OutgoingMail.objects.get(template=PASSWORD_RESET)
    assert (reset.address, reset.account) == (ALICE, alice)


@ON_BOTH
def test_ways_to_log_in_that_were_added_around_the_change_are_removed(alice):
    link, now = changed(alice), timezone.now()
    for kind, age in (("webauthn", 20 * DAY), ("webauthn", DAY / 2), ("totp", DAY * 0)):
        Authenticator.objects.create(
            user=alice, type=kind, data={}, created_at=now - age
        )
    for uid, age in (("old", 20 * DAY), ("new", DAY * 0)):
        row = SocialAccount.objects.create(user=alice, provider="x", uid=uid)
        SocialAccount.objects.filter(pk=row.pk).update(date_joined=now - age)

    Visitor().send(link)

    [kept] = Authenticator.objects.all()
    assert kept.created_at < now - 19 * DAY
    assert [row.uid for row in SocialAccount.objects.all()] == ["old"]


def test_recovery_codes_do_not_stay_alone(alice):
    link, now = changed(alice), timezone.now()
    for kind, at in (("recovery_codes", now - 20 * DAY), ("totp", now)):
        Authenticator.objects.create(user=alice, type=kind, data={}, created_at=at)

    Visitor().send(link)

    assert not Authenticator.objects.exists()


def test_the_button_needs_its_token_and_is_limited(alice):
    link = changed(alice)
    account_services.account_create(ALICE, NEW_PASSWORD, confirmed=True)

    visitor = Visitor()
    assert visitor.client.post(link).status_code == 403
    with override_settings(ACCOUNT_RATE_LIMITS={"undo_email_change": "2/m/ip"}):
        assert [visitor.send(link).status_code for _ in range(3)] == [200, 200, 429]
    assert settings.ACCOUNT_RATE_LIMITS["undo_email_change"] == "20/m/ip"


def test_it_is_logged_without_the_link_or_an_address(alice):
    link = changed(alice)
    log, logger = LogLines(), logging.getLogger("readback.security")
    logger.addHandler(log)
    try:
        Visitor(address="203.0.113.7").send(link)
    finally:
        logger.removeHandler(log)

    line = log.last("email_change_undone")
    assert (line["account"], line["ip"]) == (alice.pk, "203.0.113.7")
    secrets = (ALICE, MALLORY, link.rstrip("/").rpartition("/")[2])
    stored = _everything_stored()
    assert not [s for s in secrets if any(s in text for text in log.texts)]
    assert secrets[2] not in stored
    assert secrets[2].rpartition(":")[2] not in stored


@ON_BOTH
def test_all_of_it_happens_or_nothing(alice, monkeypatch):
    token = token_of(changed(alice))

    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("readback.cabinet.mail.notices._mail", lambda *_, **__: fail())
    with pytest.raises(ZeroDivisionError):
        email_changes.email_change_undo(token)

    assert addresses_of(alice) == [(MALLORY, True, True)]
    assert not OutgoingMail.objects.exists()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_the_owner_in_the_same_browser_is_logged_out(alice):
    """A change by mistake is undone in the same way."""
    link = changed(alice)
    owner = logged_in(alice)
    assert owner.is_logged_in

    assert owner.send(link).status_code == 302

    assert not owner.is_logged_in


# The change itself


def confirmation_of(email: str) -> str:
    key = EmailConfirmationHMAC(EmailAddress.objects.get(email=email)).key
    return f"/accounts/confirm-email/{key}/"


def test_no_limit_keeps_the_link_from_its_reader(alice):
    """Mallory causes many notices first."""
    EmailAddress.objects.create(user=alice, email=MALLORY)
    mallory = logged_in(alice)
    with override_settings(ACCOUNT_RATE_LIMITS={"notice_to": "1/h/key"}):
        for _ in range(2):
            mallory.send("/keys/", {"label": "x"})
        mallory.send(confirmation_of(MALLORY))

    sent = [mail.template for mail in OutgoingMail.objects.order_by("pk")]
    assert sent == ["account/email/key_created", EMAIL_CHANGED]


def test_opening_a_confirmation_logs_nobody_out(alice):
    EmailAddress.objects.create(user=alice, email=MALLORY)
    bob = logged_in(account("bob@example.org"))
    link = confirmation_of(MALLORY)

    for method in (bob.client.get, bob.client.head):
        assert method(link).status_code == 200
    assert bob.is_logged_in
    bob.send(link)
    assert not bob.is_logged_in


def test_an_address_taken_in_the_meantime_is_refused_with_a_sentence(alice, mails):
    """Bob signs up with the address, but has not confirmed it yet."""
    mallory = mallory_with(mails)
    link = link_in(mails.wait_for(MALLORY, "Confirm"))
    account_services.account_create(MALLORY, PASSWORD)

    sentence = f"{MALLORY} belongs to another account"
    assert sentence in words_of(mallory.get(link))
    response = mallory.send(link, page="/account/")
    assert sentence in words_of(mallory.get(response.headers["Location"]))

    alice.refresh_from_db()
    assert alice.email == ALICE
    assert (ALICE, True, True) in addresses_of(alice)


@ON_BOTH
def test_a_change_that_fails_half_way_is_taken_back(alice, mails, monkeypatch):
    mallory = mallory_with(mails)
    link = link_in(mails.wait_for(MALLORY, "Confirm"))

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("readback.cabinet.mail.outbox.add", fail)
    with pytest.raises(ZeroDivisionError):
        mallory.send(link)

    alice.refresh_from_db()
    assert alice.email == ALICE
    assert (ALICE, True, True) in addresses_of(alice)
    assert connection.in_atomic_block is False
    assert transaction.get_autocommit()


def test_the_confirmation_can_be_sent_again_from_the_account_page(alice, mails):
    mallory = mallory_with(mails)
    page = text_of(mallory.get("/account/"))
    assert 'name="action_send"' in page

    again = {"email": MALLORY, "action_send": ""}
    soon = mallory.send(EMAIL, again, page="/account/")
    assert "three minutes" in words_of(mallory.get(soon.headers["Location"]))
    wait_until_sent()
    assert len(mails.to(MALLORY)) == 1

    cache.clear()  # three minutes later
    later = mallory.send(EMAIL, again, page="/account/")
    assert later.headers["Location"] == "/account/"
    assert "is on its way" in words_of(mallory.get("/account/"))
    wait_until_sent()
    assert len(mails.to(MALLORY)) == 2
