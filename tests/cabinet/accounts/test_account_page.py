"""The account page: the language of e-mails, and deleting the account."""

from readback.cabinet.keys import services as key_services
from readback.cabinet.models import Key, User
from tests.cabinet.owners import entry, used
from tests.cabinet.visitor import Visitor, words_of

ALICE = "alice@example.org"


def test_mails_are_in_the_language_of_the_last_login(alice, mails):
    Visitor(language="ru").log_in(ALICE)

    alice.refresh_from_db()
    key_services.key_create(alice)
    assert "Новый ключ" in mails.wait_for(ALICE)["Subject"]


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
