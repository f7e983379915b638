"""The account page: address, password, language, and deleting the account."""

import pytest
from allauth.account.models import EmailAddress
from django.core.cache import cache

from readback.cabinet.accounts import selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import Key, User
from tests.cabinet.owners import entry, used
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of
from tests.support.mailbox import link_in

DATABASES = ["sqlite"]

ALICE, NEW = "alice@example.org", "alice@example.net"
EMAIL = "/accounts/email/"

pytestmark = pytest.mark.usefixtures("unsent_mails")


def test_a_new_address_is_used_only_after_it_is_confirmed(alice, owner, mails):
    owner.send(EMAIL, {"email": NEW, "action_add": ""})

    assert NEW in words_of(owner.get("/account/"))
    alice.refresh_from_db()
    assert alice.email == ALICE
    assert selectors.account_is_confirmed(alice)

    owner.send(link_in(mails.wait_for(NEW, "Confirm")))

    alice.refresh_from_db()
    assert alice.email == NEW
    assert selectors.account_is_confirmed(alice)
    assert [a.email for a in EmailAddress.objects.filter(user=alice)] == [NEW]
    assert (
        NEW in mails.wait_for(ALICE, "address at Readback has been changed").as_string()
    )
    old, new = Visitor(), Visitor()
    old.log_in(ALICE)
    new.log_in(NEW)
    assert (old.is_logged_in, new.is_logged_in) == (False, True)


def test_the_address_of_another_account_cannot_be_taken(owner, mails):
    bob = account_services.account_create("bob@example.org", PASSWORD, confirmed=True)

    response = owner.send(EMAIL, {"email": "bob@example.org", "action_add": ""})

    # The page does not reveal that Bob has an account, and the link does not work.
    assert response.status_code == 302
    link = link_in(mails.wait_for("bob@example.org", "Confirm"))
    assert "cannot be confirmed" in words_of(owner.get(link))
    owner.send(link, page="/account/")
    assert selectors.account_find("bob@example.org") == bob
    assert User.objects.get(email=ALICE)


def test_an_unconfirmed_address_does_not_block_its_owner(owner, mails):
    """Mallory claims Bob's address before Bob signs up; Bob is not affected."""
    owner.send(EMAIL, {"email": "bob@example.org", "action_add": ""})
    other_browser = Visitor()
    other_browser.log_in("bob@example.org")
    assert not other_browser.is_logged_in
    Visitor().send("/accounts/password/reset/", {"email": "bob@example.org"})
    assert mails.wait_for("bob@example.org", "No Readback account")

    cache.clear()  # a confirmation was sent for Mallory less than three minutes ago
    mails.messages.clear()
    bob = Visitor()
    bob.sign_up("bob@example.org")
    bob.send(link_in(mails.wait_for("bob@example.org", "Confirm")))

    assert bob.is_logged_in
    assert User.objects.get(email=ALICE) != User.objects.get(email="bob@example.org")


def test_the_link_of_a_replaced_change_no_longer_works(owner, mails):
    owner.send(EMAIL, {"email": "typo@example.net", "action_add": ""})
    link = link_in(mails.wait_for("typo@example.net", "Confirm"))

    owner.send(EMAIL, {"email": NEW, "action_add": ""})

    assert "no longer works" in words_of(Visitor().get(link))


def test_the_chosen_language_applies_on_every_device_and_in_mails(alice, owner, mails):
    owner.send("/account/language/", {"language": "ru"}, page="/account/")

    other_browser = Visitor(language="en")
    other_browser.log_in(ALICE)
    assert 'lang="ru"' in text_of(other_browser.get("/account/"))
    alice.refresh_from_db()
    key_services.key_create(alice)
    assert "Новый ключ" in mails.wait_for(ALICE)["Subject"]

    owner.send("/account/language/", {"language": ""}, page="/account/")
    assert 'lang="en"' in text_of(owner.get("/account/"))


def test_deleting_an_account_deletes_all_its_data(alice, owner, mails):
    key = key_services.key_create(alice, "mine").key
    used(key, 3)
    entry(key)

    page = owner.get("/account/delete/")
    assert ALICE in words_of(page)
    response = owner.send("/account/delete/", {"email": "Alice@example.org"})

    assert response.headers["Location"] == "/"
    assert "have been deleted" in words_of(owner.get("/"))
    assert not owner.is_logged_in
    assert mails.wait_for(ALICE, "has been deleted")
    assert not User.objects.exists() and not Key.objects.exists()


def test_an_account_is_deleted_only_by_its_address_and_after_a_recent_login(
    alice, owner
):
    for email in ("", "bob@example.org"):
        assert owner.send("/account/delete/", {"email": email}).status_code == 200
    owner.forget_login()
    asked = owner.send("/account/delete/", {"email": ALICE}, page="/account/")

    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert User.objects.filter(pk=alice.pk).exists()
