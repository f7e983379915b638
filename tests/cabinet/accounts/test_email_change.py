"""Changing the e-mail address: the new one is confirmed, the old one is notified."""

from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.core.cache import cache
from django.test import override_settings

from readback.cabinet.accounts import selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.models import OutgoingMail, User
from readback.config import Config
from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import PASSWORD, Visitor, words_of
from tests.support.mailbox import html_of, link_in
from tests.support.mailbox import text_of as mail_text_of

ALICE = "alice@example.org"
BOB = "bob@example.org"
NEW = "alice@example.net"
EMAIL = "/accounts/email/"


def addresses_of(account: User) -> list[tuple[str, bool, bool]]:
    rows = EmailAddress.objects.filter(user=account).order_by("pk")
    return list(rows.values_list("email", "verified", "primary"))


def test_a_new_address_is_used_once_it_is_confirmed_and_the_old_one_is_told(
    alice, owner, mails
):
    owner.send(EMAIL, {"email": NEW, "action_add": ""})
    assert NEW in words_of(owner.get("/account/"))
    assert addresses_of(alice) == [(ALICE, True, True), (NEW, False, False)]

    with override_settings(CONFIG=Config(contact="mailto:operator@example.org")):
        owner.send(link_in(mails.wait_for(NEW, "Confirm")))
        notice = mails.wait_for(ALICE, "address at Readback has been changed")

    assert addresses_of(alice) == [(NEW, True, True)]
    old, new = Visitor(), Visitor()
    old.log_in(ALICE)
    new.log_in(NEW)
    assert (old.is_logged_in, new.is_logged_in) == (False, True)
    assert NEW in mail_text_of(notice)
    assert "contact the operator: operator@example.org" in mail_text_of(notice)
    for part in (mail_text_of(notice), html_of(notice)):
        assert "http://" not in part  # the notice contains no link


def test_the_address_of_another_account_cannot_be_taken(owner, mails):
    bob = account_services.account_create(BOB, PASSWORD, confirmed=True)

    response = owner.send(EMAIL, {"email": BOB, "action_add": ""})

    # The page does not reveal that Bob has an account, and the link does not work.
    assert response.status_code == 302
    link = link_in(mails.wait_for(BOB, "Confirm"))
    assert "cannot be confirmed" in words_of(owner.get(link))
    owner.send(link, page="/account/")
    assert selectors.account_find(BOB) == bob
    assert User.objects.get(email=ALICE)


def test_an_unconfirmed_address_does_not_block_its_owner(owner, mails):
    """Mallory claims Bob's address before Bob signs up; Bob is not affected."""
    owner.send(EMAIL, {"email": BOB, "action_add": ""})
    other_browser = Visitor()
    other_browser.log_in(BOB)
    assert not other_browser.is_logged_in
    Visitor().send("/accounts/password/reset/", {"email": BOB})
    assert mails.wait_for(BOB, "No Readback account")

    cache.clear()  # a confirmation was sent for Mallory less than three minutes ago
    mails.messages.clear()
    bob = Visitor()
    bob.sign_up(BOB)
    bob.send(link_in(mails.wait_for(BOB, "Confirm")))

    assert bob.is_logged_in
    assert User.objects.get(email=ALICE) != User.objects.get(email=BOB)


def test_the_link_of_a_replaced_change_no_longer_works(owner, mails):
    owner.send(EMAIL, {"email": "typo@example.net", "action_add": ""})
    link = link_in(mails.wait_for("typo@example.net", "Confirm"))

    owner.send(EMAIL, {"email": NEW, "action_add": ""})

    assert "no longer works" in words_of(Visitor().get(link))


def confirmation_of(email: str) -> str:
    key = EmailConfirmationHMAC(EmailAddress.objects.get(email=email)).key
    return f"/accounts/confirm-email/{key}/"


def test_no_limit_keeps_the_notice_from_its_reader(alice):
    """Mallory first causes enough notices to reach the limit."""
    EmailAddress.objects.create(user=alice, email=NEW)
    mallory = logged_in(alice)
    with override_settings(ACCOUNT_RATE_LIMITS={"notice_to": "1/h/key"}):
        for _ in range(2):
            mallory.send("/keys/", {"label": "x"})
        mallory.send(confirmation_of(NEW))

    sent = [mail.template for mail in OutgoingMail.objects.order_by("pk")]
    assert sent == ["account/email/key_created", "account/email/email_changed"]


def test_opening_a_confirmation_logs_nobody_out(alice):
    EmailAddress.objects.create(user=alice, email=NEW)
    bob = logged_in(account(BOB))
    link = confirmation_of(NEW)

    for method in (bob.client.get, bob.client.head):
        assert method(link).status_code == 200
    assert bob.is_logged_in
    bob.send(link)
    assert not bob.is_logged_in


def test_an_address_taken_in_the_meantime_is_refused_with_a_sentence(
    alice, owner, mails
):
    """Bob signs up with the address, but has not confirmed it yet."""
    owner.send(EMAIL, {"email": NEW, "action_add": ""})
    link = link_in(mails.wait_for(NEW, "Confirm"))
    account_services.account_create(NEW, PASSWORD)

    response = owner.send(link)
    said = words_of(owner.get(response.headers["Location"]))
    assert f"{NEW} belongs to another account" in said

    alice.refresh_from_db()
    assert alice.email == ALICE
    assert (ALICE, True, True) in addresses_of(alice)
