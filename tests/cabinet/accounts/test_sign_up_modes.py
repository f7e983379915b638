"""Who may sign up: READBACK_SIGNUP on every path that can create an account."""

import pytest
from allauth.account.models import EmailAddress

from readback.cabinet.accounts import services
from readback.cabinet.models import OutgoingMail, User
from tests.cabinet.owners import account, logged_in
from tests.cabinet.sign_up_setting import sign_up_for
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of
from tests.support.mailbox import text_of as text_of_mail

ALICE, BOB = "alice@example.org", "bob@example.com"
DOMAINS = "example.org,example.net"
# On SQLite only, because the rules do not depend on the database.
pytestmark = pytest.mark.usefixtures("unsent_mails")


CLOSED = "an operator of this service creates the accounts"


def test_without_a_form_the_pages_say_how_to_get_an_account():
    with sign_up_for("closed"):
        page = Visitor().get("/accounts/signup/")
        landing, login = Visitor().get("/"), Visitor().get("/accounts/login/")

    assert page.status_code == 200 and 'name="email"' not in text_of(page)
    assert CLOSED in words_of(page) and "Log in" in words_of(page)
    assert "/accounts/password/reset/" in text_of(page)
    for each in (page, landing, login):
        assert "Sign up" not in words_of(each)
    assert "Get a free key" not in words_of(landing)
    assert "How to get one" in words_of(login)


def test_a_form_that_was_already_open_is_refused():
    account(ALICE)
    with sign_up_for("closed"):
        for email in (ALICE, BOB):
            assert CLOSED in words_of(Visitor().sign_up(email))

    assert User.objects.count() == 1
    assert not OutgoingMail.objects.exists()


def test_only_the_domains_of_the_setting_can_sign_up(mails):
    outside = [
        BOB,
        "bob@sub.example.org",
        "bob@example.org.example.com",
        "bob@notexample.org",
        "bob@exampl\u0435.org",  # a Cyrillic letter
        "bob@example.org@example.com",
    ]
    with sign_up_for(DOMAINS):
        page = words_of(Visitor().get("/accounts/signup/"))
        assert "example.net, example.org" in page
        for address in outside:
            answer = Visitor().sign_up(address)
            assert answer.status_code == 200, address
        assert not User.objects.exists()
        inside = Visitor().sign_up("Alice@EXAMPLE.org")

    assert inside.headers["Location"] == "/accounts/confirm-email/"
    assert mails.wait_for(ALICE, "Confirm")


def test_a_refused_domain_does_not_reveal_whether_there_is_an_account():
    account(BOB)
    with sign_up_for(DOMAINS):
        known = Visitor().sign_up(BOB)
        unknown = Visitor().sign_up("abc@example.com")

    sentence = "Use an address from one of these domains: example.net, example.org."
    assert sentence in words_of(known)
    assert words_of(known) == words_of(unknown)


def test_an_account_cannot_change_to_another_domain():
    alice = logged_in(account(ALICE))
    page = "/accounts/email/"
    with sign_up_for(DOMAINS):
        refused = alice.send(page, {"email": BOB, "action_add": ""})
        allowed = alice.send(page, {"email": "alice@example.net", "action_add": ""})

    assert "Use an address from one of these domains" in words_of(refused)
    assert allowed.status_code == 302
    assert not EmailAddress.objects.filter(email=BOB).exists()


def test_an_account_that_already_exists_keeps_working(mails):
    services.account_create(BOB, PASSWORD, confirmed=True)
    for mode in ("closed", DOMAINS):
        with sign_up_for(mode):
            bob = Visitor()
            bob.log_in(BOB)
            assert bob.is_logged_in, mode
            Visitor().send("/accounts/password/reset/", {"email": BOB})
    assert mails.wait_for(BOB, "Set a new password")


def test_no_mail_offers_a_sign_up_that_is_refused(mails):
    cases = {"closed": False, "example.com": True, "example.org": False}
    for mode, is_offered in cases.items():
        mails.messages.clear()
        with sign_up_for(mode):
            Visitor().send("/accounts/password/reset/", {"email": BOB})
            text = text_of_mail(mails.wait_for(BOB, "No Readback account"))
        assert ("/accounts/signup/" in text) is is_offered, mode
