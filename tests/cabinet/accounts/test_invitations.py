"""Invitations: an account without a password, made by an operator, and a mail."""

import pytest
from django.contrib.admin.models import LogEntry

from readback.cabinet.accounts import services
from readback.cabinet.accounts.invitations import (
    MAX_ADDRESSES,
    account_invite,
    invite_many,
)
from readback.cabinet.accounts.selectors import account_is_confirmed
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.models import OutgoingMail, User
from tests.cabinet.accounts.test_password_reset import choose
from tests.cabinet.owners import ALICE, BOB, account, logged_in
from tests.cabinet.sign_up_setting import sign_up_for
from tests.cabinet.visitor import PASSWORD, Visitor, words_of
from tests.support.mailbox import link_in
from tests.support.mailbox import text_of as mail_text_of

DATABASES = ["sqlite"]
PAGE = "/admin/cabinet/user/add/"
CAROL = "carol@example.org"
NEW = "another lamp, another harbour"

pytestmark = pytest.mark.usefixtures("unsent_mails")


@pytest.fixture
def operator() -> Visitor:
    made = account("operator@example.org")
    User.objects.filter(pk=made.pk).update(is_staff=True)
    return logged_in(made)


@pytest.mark.parametrize("mode", ["open", "closed", "example.org"])
def test_an_invited_person_asks_for_a_password_and_logs_in(mails, mode):
    with sign_up_for(mode):
        account_invite(ALICE)
        invitation = mails.wait_for(ALICE, "invitation")
        link = link_in(invitation)
        assert link.endswith("/accounts/password/reset/")
        visitor = Visitor()
        visitor.send(link, {"email": ALICE})
        choose(visitor, link_in(mails.wait_for(ALICE, "Set a new password")))
        visitor.log_in(ALICE, NEW)

    assert visitor.is_logged_in
    assert "works" not in mail_text_of(invitation)  # nothing in it expires


def test_nobody_can_use_the_account_before_that():
    made = account_invite(ALICE)

    assert account_is_confirmed(made) and not made.has_usable_password()
    for guess in ("", "!", made.password, PASSWORD):
        visitor = Visitor()
        visitor.log_in(ALICE, guess)
        assert not visitor.is_logged_in


def test_a_sign_up_that_nobody_confirmed_is_replaced():
    """Mallory has signed up with Alice's address, and knows the password."""
    Visitor().sign_up(ALICE)

    account_invite(ALICE)

    assert not User.objects.get().has_usable_password()


def test_the_operator_is_told_why_an_address_was_left_out():
    services.account_create(BOB, PASSWORD, confirmed=True)
    with sign_up_for("example.org"):
        results = invite_many(f"{ALICE}, {BOB}; nobody@, carol@example.com\n{ALICE}")

    assert [(each.email, each.account is not None) for each in results] == [
        (ALICE, True),
        (BOB, False),
        ("nobody@", False),
        ("carol@example.com", False),
    ]
    problems = [each.problem for each in results[1:]]
    assert problems == [
        "An account with this address already exists.",
        "Enter a valid e-mail address.",
        "READBACK_SIGNUP only allows addresses from example.org.",
    ]
    assert OutgoingMail.objects.count() == 1


LISTS = {
    "lines": f"{ALICE}\n{BOB}\r\n{CAROL}\r",
    "one line": f"{ALICE}, {BOB};{CAROL}",
    "a mail program": f'"Doe, Alice" <{ALICE}>; Bob <{BOB}>, <mailto:{CAROL}>',
    "a table": f"Name,E-mail\nA,{ALICE}\nB,{BOB}\nC,{CAROL}",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_addresses_are_found_in_any_list(text):
    results = invite_many(text)

    assert [each.email for each in results] == [ALICE, BOB, CAROL]
    assert not any(each.problem for each in results)


def test_a_list_has_a_limit():
    for text in ("", "no address", "a@b " + " ".join(map(str, range(5)))):
        if "@" not in text:
            with pytest.raises(ServiceError, match="has 0 addresses"):
                invite_many(text)
    many = " ".join(f"a{n}@example.org" for n in range(MAX_ADDRESSES + 1))
    with pytest.raises(ServiceError, match="1001 addresses"):
        invite_many(many)
    assert not User.objects.exists()


def test_an_operator_invites_on_a_page_with_an_entry_in_the_audit_trail(operator):
    account(BOB)
    page = operator.send(PAGE, {"addresses": f"{ALICE} {BOB}"})

    words = words_of(page)
    assert "Invited: 1." in words
    assert f"{BOB} An account with this address already exists." in words
    entry = LogEntry.objects.get()
    assert (entry.object_repr, entry.get_change_message()) == (ALICE, "Invited")
    assert User.objects.filter(email=ALICE).exists()
    assert "has 0 addresses" in words_of(operator.send(PAGE, {"addresses": "x"}))
