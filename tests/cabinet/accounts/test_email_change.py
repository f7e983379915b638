"""A change of an account's address: confirmed by the new one, told to the old one."""

from typing import Any

from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.test import override_settings

from readback.cabinet.accounts import services as account_services
from readback.cabinet.models import OutgoingMail, User
from readback.config import Config
from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import PASSWORD, Visitor, words_of
from tests.support.mailbox import html_of, link_in
from tests.support.mailbox import text_of as mail_text_of

DATABASES = ["sqlite"]

ALICE = "alice@example.org"
MALLORY = "mallory@example.net"
EMAIL = "/accounts/email/"


def addresses_of(account: User) -> list[tuple[str, bool, bool]]:
    rows = EmailAddress.objects.filter(user=account)
    return list(rows.values_list("email", "verified", "primary"))


def mallory_with(mails: Any) -> Visitor:
    """Return Mallory, who knows Alice's password and waits for a confirmation."""
    mallory = Visitor(address="203.0.113.66")
    mallory.log_in(ALICE)
    mallory.send(EMAIL, {"email": MALLORY, "action_add": ""})
    mails.wait_for(MALLORY, "Confirm")
    return mallory


def test_the_old_address_is_told_whom_to_contact(alice, mails):
    mallory = mallory_with(mails)
    with override_settings(CONFIG=Config(contact="mailto:operator@example.org")):
        mallory.send(link_in(mails.wait_for(MALLORY, "Confirm")))
        notice = mails.wait_for(ALICE, "address at Readback has been changed")

    assert MALLORY in mail_text_of(notice)
    assert "contact the operator: operator@example.org" in mail_text_of(notice)
    for part in (mail_text_of(notice), html_of(notice)):
        assert "http://" not in part  # no link in it changes anything
    assert addresses_of(alice) == [(MALLORY, True, True)]


def confirmation_of(email: str) -> str:
    key = EmailConfirmationHMAC(EmailAddress.objects.get(email=email)).key
    return f"/accounts/confirm-email/{key}/"


def test_no_limit_keeps_the_notice_from_its_reader(alice):
    """Mallory causes many notices first."""
    EmailAddress.objects.create(user=alice, email=MALLORY)
    mallory = logged_in(alice)
    with override_settings(ACCOUNT_RATE_LIMITS={"notice_to": "1/h/key"}):
        for _ in range(2):
            mallory.send("/keys/", {"label": "x"})
        mallory.send(confirmation_of(MALLORY))

    sent = [mail.template for mail in OutgoingMail.objects.order_by("pk")]
    assert sent == ["account/email/key_created", "account/email/email_changed"]


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

    response = mallory.send(link)
    said = words_of(mallory.get(response.headers["Location"]))
    assert f"{MALLORY} belongs to another account" in said

    alice.refresh_from_db()
    assert alice.email == ALICE
    assert (ALICE, True, True) in addresses_of(alice)
