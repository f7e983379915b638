"""Invitations: an operator creates an account, and its owner gets an e-mail."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator

from readback.cabinet.accounts.selectors import account_is_confirmed, invitation_link
from readback.cabinet.accounts.services import account_invite
from readback.cabinet.models import AuditEntry, OutgoingMail, User
from readback.cabinet.operators.admin import MAX_INVITED, addresses_in
from tests.cabinet.accounts.test_password_reset import choose
from tests.cabinet.owners import ALICE, BOB, account
from tests.cabinet.sign_up_setting import sign_up_for
from tests.cabinet.visitor import PASSWORD, Visitor, words_of
from tests.support.mailbox import link_in
from tests.support.mailbox import text_of as mail_text_of

PAGE = "/admin/cabinet/user/add/"
CAROL = "carol@example.org"
NEW = "another lamp, another harbour"

pytestmark = pytest.mark.usefixtures("unsent_mails")


@pytest.mark.parametrize("mode", ["open", "closed", "example.org"])
def test_an_invited_person_chooses_a_password_and_logs_in(mails, mode):
    visitor = Visitor()
    with sign_up_for(mode):
        account_invite(ALICE, by="olga@example.org")
        invitation = mails.wait_for(ALICE, "invitation")
        assert "olga@example.org has created an account" in mail_text_of(invitation)
        assert invitation["Auto-Submitted"] == "auto-generated"
        link = link_in(invitation)
        words = words_of(visitor.get(visitor.get(link)["Location"]))
        assert "Welcome, choose a password" in words and ALICE in words
        choose(visitor, link)
        visitor.log_in(ALICE, NEW)

    assert visitor.is_logged_in
    assert "no longer works" in words_of(Visitor().get(link))


@pytest.mark.parametrize("days, works", [(6.9, True), (7.1, False)])
def test_an_invitation_works_for_a_week(monkeypatch, days, works):
    link = invitation_link(account_invite(ALICE))
    later = datetime.now() + timedelta(days=days)
    monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda _: later)

    assert (Visitor().get(link).status_code == 302) == works


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


LISTS = {
    "lines": f"{ALICE}\n{BOB}\r\n{CAROL}\r",
    "one line": f"{ALICE}, {BOB};{CAROL}",
    "a mail program": f'"Doe, Alice" <{ALICE}>; Bob <{BOB}>, <mailto:{CAROL}>',
    "a table": f"Name,E-mail\nA,{ALICE}\nB,{BOB}\nC,{CAROL}",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_addresses_are_found_in_any_list(text):
    assert addresses_in(f"{text} {ALICE}") == [ALICE, BOB, CAROL]


def test_a_list_has_a_limit(operator):
    many = " ".join(f"a{n}@example.org" for n in range(MAX_INVITED + 1))
    for text, number in (("no address", 0), (many, MAX_INVITED + 1)):
        answer = operator.send(PAGE, {"addresses": text})
        assert f"has {number} addresses" in words_of(answer)
    assert User.objects.count() == 1


def test_an_operator_invites_and_is_told_who_was_left_out(operator):
    account(BOB)
    with sign_up_for("example.org"):
        text = f"{ALICE} {BOB}; a..b@example.org, carol@example.com\n{ALICE}"
        words = words_of(operator.send(PAGE, {"addresses": text}))

    assert "Invited: 1." in words
    for left_out in (
        f"{BOB} An account with this address already exists.",
        "a..b@example.org Enter a valid email address.",
        "carol@example.com Use an address from one of these domains: example.org.",
    ):
        assert left_out in words
    entry = AuditEntry.objects.get()
    assert (entry.object_name, entry.change) == (ALICE, "Invited")
    assert OutgoingMail.objects.get().address == ALICE
