"""Resetting a password: the link, its recipient and its validity."""

from datetime import datetime, timedelta

from allauth.account.models import EmailAddress

from readback.cabinet.accounts import services
from readback.cabinet.models import User
from tests.cabinet.visitor import PASSWORD, Visitor, words_of
from tests.support.mailbox import Mailbox, link_in

ALICE = "alice@example.org"
NEW = "another lamp, another harbour"
RESET = "/accounts/password/reset/"


def ask(email: str = ALICE) -> None:
    Visitor().post(RESET, {"email": email})


def link(mails: Mailbox) -> str:
    return link_in(mails.wait_for(ALICE, "Set a new password"))


def choose(visitor: Visitor, url: str, password: str = NEW) -> object:
    """Open the link, follow the redirect to the form, and submit it."""
    opened = visitor.get(url)
    if opened.status_code != 302:
        return opened
    form = opened.headers["Location"]
    return visitor.send(form, {"password1": password})


def test_the_link_resets_the_password_once_and_ends_all_sessions(owner, mails):
    ask()
    url = link(mails)
    response = choose(Visitor(), url)

    assert response.headers["Location"] == "/accounts/password/reset/key/done/"
    assert not owner.is_logged_in
    old, new = Visitor(), Visitor()
    old.log_in(ALICE, PASSWORD)
    new.log_in(ALICE, NEW)
    assert (old.is_logged_in, new.is_logged_in) == (False, True)
    assert mails.wait_for(ALICE, "has been reset")
    again = choose(Visitor(), url, "yet another long password")
    assert "no longer works" in words_of(again)


def test_the_link_is_invalid_after_an_address_change(alice, mails):
    ask()
    url = link(mails)
    EmailAddress.objects.filter(user=alice).update(email="new@example.org")
    User.objects.update(email="new@example.org")

    assert "no longer works" in words_of(choose(Visitor(), url))


def test_the_link_is_invalid_after_an_hour(alice, mails, monkeypatch):
    ask()
    url = link(mails)
    later = datetime.now() + timedelta(hours=1, seconds=2)
    now = "django.contrib.auth.tokens.PasswordResetTokenGenerator._now"
    monkeypatch.setattr(now, lambda self: later)

    assert "no longer works" in words_of(choose(Visitor(), url))


def test_a_reset_request_does_not_reveal_whether_an_account_exists(alice, mails):
    services.account_create("bob@example.org", PASSWORD)
    carol = services.account_create("carol@example.org", PASSWORD, confirmed=True)
    services.account_deactivate(carol)

    def seen(email: str) -> tuple[object, ...]:
        visitor = Visitor()
        response = visitor.send(RESET, {"email": email})
        page = visitor.get(response.headers["Location"])
        # The page repeats the address that was entered.
        words = words_of(page).replace(email, "the address")
        return response.status_code, response.headers["Location"], words

    known = seen(ALICE)
    for email in ("bob@example.org", "carol@example.org", "nobody@example.org"):
        assert seen(email) == known
    # An e-mail is sent in either case, so the time reveals nothing.
    assert mails.wait_for("nobody@example.org", "No Readback account")
    assert mails.wait_for("carol@example.org", "No Readback account")


def test_a_lookalike_address_gets_no_link(mails):
    services.account_create("mike@example.org", PASSWORD, confirmed=True)

    for look_alike in ("mi\u212ae@example.org", "m\u0131ke@example.org"):
        page = Visitor().send(RESET, {"email": look_alike})
        assert page.status_code == 200
        assert "Enter a valid e-mail address" in words_of(page)
    assert mails.messages == []
