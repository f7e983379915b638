"""Signing up: confirming the address, and revealing nothing about other accounts."""

import time
from datetime import UTC, datetime
from itertools import count

import pytest
from allauth.account.models import EmailAddress, EmailConfirmation
from django.test import override_settings

from readback.cabinet.accounts import selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import User
from tests.cabinet.outgoing import wait_until_sent
from tests.cabinet.parallel import in_parallel
from tests.cabinet.visitor import CABINET, PASSWORD, Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH
from tests.support.mailbox import Mailbox, html_of, link_in
from tests.support.mailbox import text_of as text_of_mail

ALICE = "alice@example.org"

pytestmark = pytest.mark.usefixtures("unsent_mails")


def confirmation_link(mails: Mailbox, email: str = ALICE) -> str:
    return link_in(mails.wait_for(email, "Confirm"))


@ON_BOTH
def test_a_visitor_signs_up_confirms_and_is_logged_in(mails):
    alice = Visitor()
    fields = {"email": ALICE, "password1": PASSWORD}
    response = alice.send("/accounts/signup/", fields)
    assert response.headers["Location"] == "/accounts/confirm-email/"
    assert "Check your e\N{NON-BREAKING HYPHEN}mail" in words_of(
        alice.get("/accounts/confirm-email/")
    )

    link = confirmation_link(mails)
    response = alice.send(link)

    assert response.headers["Location"] == "/keys/"
    assert alice.is_logged_in
    assert selectors.account_is_confirmed(User.objects.get(email=ALICE))
    assert not EmailConfirmation.objects.exists()  # as the privacy page assumes


def test_only_the_button_confirms_once_and_logs_no_other_browser_in(mails):
    Visitor().sign_up(ALICE)
    link = confirmation_link(mails)
    late, other = Visitor(), Visitor()
    for _ in range(3):
        page = late.get(link)
        assert page.status_code == 200
        assert ALICE in text_of(page)
    late.client.head(link.removeprefix(CABINET))
    assert not EmailAddress.objects.get(email=ALICE).verified

    response = other.send(link)

    assert EmailAddress.objects.get(email=ALICE).verified
    assert response.headers["Location"] == "/accounts/login/"
    assert not other.is_logged_in
    assert "no longer works" in words_of(late.get(link))
    # A page that was opened earlier still has the button.
    assert late.post(link).status_code == 404


def test_an_unconfirmed_account_cannot_log_in_or_have_a_key():
    alice = Visitor()
    alice.sign_up(ALICE)
    again = Visitor()

    response = again.log_in(ALICE)

    assert response.headers["Location"] == "/accounts/confirm-email/"
    assert not again.is_logged_in
    assert not alice.is_logged_in
    with pytest.raises(ServiceError, match="not confirmed"):
        key_services.key_create(User.objects.get(email=ALICE))


def test_a_link_is_refused_after_a_day(mails, monkeypatch):
    Visitor().sign_up(ALICE)
    link = confirmation_link(mails)
    tomorrow = time.time() + 24 * 3600 + 1
    monkeypatch.setattr("django.core.signing.time.time", lambda: tomorrow)

    assert "no longer works" in words_of(Visitor().get(link))
    late = Visitor()
    assert late.post(link).status_code == 404
    assert not EmailAddress.objects.get(email=ALICE).verified


def sign_up_response(email: str) -> dict[str, object]:
    visitor = Visitor()
    fields = {"email": email, "password1": PASSWORD}
    response = visitor.send("/accounts/signup/", fields)
    page = visitor.get(response.headers["Location"])
    return {
        "status": response.status_code,
        "location": response.headers["Location"],
        "cookies": sorted(visitor.client.cookies),
        "headers": sorted(response.headers),
        "words": words_of(page).replace(email, "ADDRESS"),
    }


def test_signing_up_with_a_known_address_looks_the_same(mails):
    account_services.account_create(ALICE, PASSWORD, confirmed=True)
    account_services.account_create("bob@example.org", PASSWORD)

    known = sign_up_response(ALICE)
    unconfirmed = sign_up_response("bob@example.org")
    fresh = sign_up_response("carol@example.org")

    assert known == unconfirmed == fresh
    mails.wait_for(ALICE, "already have an account at Readback")
    # The account was never used, so the new sign-up replaces it.
    mails.wait_for("bob@example.org", "Confirm")
    mails.wait_for("carol@example.org", "Confirm")
    assert User.objects.count() == 3


def test_a_known_address_computes_a_password_hash_like_a_new_one(alice, hashed):
    Visitor().sign_up(ALICE)
    assert len(hashed) == 1

    Visitor().sign_up("carol@example.org")
    assert len(hashed) == 2


@ON_BOTH
def test_parallel_sign_ups_with_one_address_create_one_account():
    numbers = count(1)

    def sign_up() -> int:
        # Each from its own address: allauth locks the count of an address, so sign-ups
        # from only one would run one at a time.
        visitor = Visitor(address=f"203.0.113.{next(numbers)}")
        return visitor.sign_up(ALICE).status_code

    statuses = in_parallel(sign_up, 4)

    assert statuses == [302] * 4
    assert User.objects.count() == 1


def test_a_forged_host_does_not_change_the_link(mails):
    Visitor().log_in(ALICE, headers={"x-forwarded-host": "evil.example"})
    mallory = Visitor()
    forged = {"x-forwarded-host": "evil.example", "host": "localhost:6666"}
    page = "/accounts/signup/"
    response = mallory.send(
        page, {"email": ALICE, "password1": PASSWORD}, headers=forged
    )

    assert response.status_code == 302
    mail = mails.wait_for(ALICE)
    assert link_in(mail).startswith(f"{CABINET}/accounts/")
    for part in (text_of_mail(mail), html_of(mail)):
        assert "evil" not in part
        assert "6666" not in part


INVALID_ADDRESSES = [
    # Python would turn the domain into strasse.de, which belongs to someone else.
    "alice@straße.de",
    "alice@\u03b2\u03cc\u03bb\u03bf\u03c2.com",
    "alice@example.org\r\nBcc: mallory@example.org",
    "alice@example.org\nSubject: hello",
    '"alice\r\nBcc: m@example.org"@example.org',
    "alice@example.org%0d%0aBcc:m@example.org",
    "alice@example.org\x00",
    f"{'a' * 64}@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.org",
    f"{'a' * 300}@example.org",
    "alice@[127.0.0.1]",
    "alice@[IPv6:::1]",
    "alic\u212a@example.org",  # the Kelvin sign, whose lower case is an ASCII k
    "al\u0131ce@example.org",  # a dotless i, whose upper case is an ASCII I
    "\u202egro.elpmaxe@ecila",
    "<script>alert(1)</script>@example.org",
    "alice@[::1]'--",
    "alice@exam ple.org",
    "alice@" + "a" * 64 + ".org",
    "@",
    "undefined",
    "' OR 1=1 --",
    "👾@example.org",
]


@override_settings(ACCOUNT_RATE_LIMITS=False)
def test_an_invalid_address_is_refused_and_sends_nothing(mails):
    for text in INVALID_ADDRESSES:
        page = Visitor().sign_up(text)

        assert page.status_code == 200, text
        assert "errorlist" in text_of(page), text
        assert "<script>alert" not in text_of(page)
    assert not User.objects.exists()
    assert mails.messages == []


ADDRESS_FORMS = [
    ("Alice@Example.ORG", "alice@example.org"),
    ("alice+tag@example.org", "alice+tag@example.org"),
    ("o'brien@example.org", "o'brien@example.org"),
    ("alice@пример.рф", "alice@xn--e1afmkfd.xn--p1ai"),
    ("alice@xn--strae-oqa.de", "alice@xn--strae-oqa.de"),
    # A lookalike of example.org with a Cyrillic letter is another domain.
    ("alice@ex\u0430mple.org", "alice@xn--exmple-4nf.org"),
]


@ON_BOTH
@override_settings(ACCOUNT_RATE_LIMITS=False)
def test_all_forms_of_an_address_are_one_account():
    for typed, stored in ADDRESS_FORMS:
        Visitor().sign_up(typed)
        Visitor().sign_up(typed.upper() if typed.isascii() else typed)

        account = User.objects.get()
        assert account.email == stored
        account_services.account_confirm(account)
        alice = Visitor()
        alice.log_in(typed)
        assert alice.is_logged_in, typed
        account_services.account_delete(account)


def test_without_a_mail_server_the_page_says_where_the_link_is(
    database, settings_without_mail, capsys
):
    alice = Visitor()
    alice.sign_up(ALICE)

    page = words_of(alice.get("/accounts/confirm-email/"))
    wait_until_sent()
    printed = capsys.readouterr()

    assert "terminal or the log of the server" in page
    assert f"Mail to {ALICE}" in printed.err
    link = next(line for line in printed.err.splitlines() if line.startswith("http"))
    assert alice.send(link).headers["Location"] == "/keys/"
    assert printed.out == ""


@ON_BOTH
def test_a_link_confirms_only_the_password_of_its_own_sign_up(mails):
    """Mallory signs up with Alice's address, and waits for Alice to confirm it."""
    mallory, alice = Visitor(address="203.0.113.66"), Visitor()
    mallory.sign_up(ALICE, "the password of mallory")
    first = confirmation_link(mails)
    mails.messages.clear()
    alice.sign_up(ALICE)
    second = confirmation_link(mails)

    assert "no longer works" in words_of(alice.get(first))
    alice.send(second)

    assert alice.is_logged_in
    assert not mallory.is_logged_in
    mallory.log_in(ALICE, "the password of mallory")
    assert not mallory.is_logged_in


@pytest.mark.parametrize(
    "state",
    [
        {"is_active": False},
        {"is_staff": True},
        {"last_login": datetime(2026, 1, 1, tzinfo=UTC)},
        {},
    ],
    ids=["inactive", "operator", "was logged in", "has keys"],
)
def test_only_an_unused_account_is_replaced(mails, state):
    kept = account_services.account_create(ALICE, PASSWORD, confirmed=True)
    if not state:
        key_services.key_create(kept)
    User.objects.update(**state)
    EmailAddress.objects.update(verified=False)

    Visitor().sign_up(ALICE, "the password of mallory")

    mails.wait_for(ALICE, "already have an account at Readback")
    assert User.objects.get().pk == kept.pk
    assert User.objects.get().check_password(PASSWORD)
