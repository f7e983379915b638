"""Passkeys: as a second factor, and to log in without a password."""

import json
from dataclasses import replace

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.test import override_settings
from django.utils.html import escape

from readback.cabinet.accounts import second_factor
from readback.cabinet.accounts import services as account_services
from readback.cabinet.models import LABEL_LENGTH
from tests.cabinet.accounts.factors import (
    CHALLENGE,
    LOCALHOST,
    PAGE,
    PASSKEY,
    PASSKEY_CONFIRM,
    PASSKEY_LOGIN,
    Passkey,
    add_passkey,
    answer,
    ask,
    log_in_with,
)
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of
from tests.support.mailbox import text_of as body_of

ALICE, BOB = "alice@example.org", "bob@example.org"
LOGIN = "/accounts/login/"


@pytest.fixture
def passkey(owner) -> Passkey:
    """A passkey that Alice has added."""
    created = Passkey()
    add_passkey(owner, created)
    return created


def challenged() -> Visitor:
    """Return a visitor who has entered Alice's password."""
    visitor = Visitor()
    assert visitor.log_in(ALICE).headers["Location"] == CHALLENGE
    return visitor


def test_a_passkey_logs_in_without_a_password_or_beside_it(passkey, mails):
    assert log_in_with(passkey).is_logged_in
    visitor = challenged()
    assert not visitor.is_logged_in
    answer(visitor, CHALLENGE, passkey.get(ask(visitor, CHALLENGE)))
    assert visitor.is_logged_in
    assert "A passkey was added" in body_of(mails.wait_for(ALICE, "New second factor"))


def test_a_passkey_does_not_log_in_if_only_single_sign_on_may(passkey):
    config = replace(settings.CONFIG, oidc_only=True)
    visitor = Visitor()
    with override_settings(CONFIG=config):
        answer(visitor, PASSKEY_LOGIN, passkey.get(ask(visitor, PASSKEY_LOGIN)))
        assert not visitor.is_logged_in


def test_a_security_key_that_verifies_nobody_is_refused(passkey):
    """A thief should also need the key's PIN or the owner's fingerprint."""
    passkey.verifies = False
    assert not log_in_with(passkey).is_logged_in
    visitor = challenged()
    answer(visitor, CHALLENGE, passkey.get(ask(visitor, CHALLENGE)))
    assert not visitor.is_logged_in


def test_a_passkey_of_another_account_or_site_is_no_second_factor(passkey):
    account_services.account_create(BOB, PASSWORD, confirmed=True)
    bob = Visitor()
    foreign = Passkey(b"the key of bob")
    bob.log_in(BOB)
    add_passkey(bob, foreign)
    visitor = challenged()
    page = answer(visitor, CHALLENGE, foreign.get(ask(visitor, CHALLENGE)))
    assert "not accepted here" in words_of(page)

    passkey.origin = "https://readback.example"
    answer(visitor, CHALLENGE, passkey.get(ask(visitor, CHALLENGE)))

    assert not visitor.is_logged_in


def test_an_answer_that_nobody_can_read_is_refused(
    owner, passkey, settings_without_limits
):
    visitors = {PASSKEY: owner, PASSKEY_CONFIRM: owner, CHALLENGE: challenged()}
    for url, visitor in (*visitors.items(), (PASSKEY_LOGIN, Visitor())):
        asked = ask(visitor, url)
        good = json.loads(
            passkey.create(asked) if url == PASSKEY else passkey.get(asked)
        )
        wrong = (None, [], {}, 7, "!", "\udcff", "AAAA", "[" * 99, {"userHandle": 7})
        broken = [good | {"response": each} for each in wrong]
        for each in wrong:
            data = {"clientDataJSON": each}
            broken.append(good | {"response": good["response"] | data})
        odd = ("", "[]", "1e999", "[" * 30_000, "\0", '{"a":' * 9_000)
        is_logged_in = visitor.is_logged_in
        for given in (*odd, *map(json.dumps, broken)):
            page = answer(visitor, url, given)
            if page.status_code == 302:  # to a page with a message
                page = visitor.get(LOGIN)
                page = page if page.status_code == 200 else visitor.get("/keys/")
            words = words_of(page)
            assert "not accepted" in words or "was not added" in words, given
        assert visitor.is_logged_in == is_logged_in
    assert Authenticator.objects.filter(type="webauthn").count() == 1


def test_a_deactivated_account_cannot_log_in_with_its_passkey(alice, passkey):
    account_services.account_deactivate(alice)

    assert not log_in_with(passkey).is_logged_in


def test_names_can_be_changed_and_passkeys_removed(owner, passkey, mails):
    row = Authenticator.objects.get(type="webauthn")
    paths = [f"{PAGE}webauthn/keys/{row.pk}/{verb}/" for verb in ("edit", "remove")]
    mallory = Visitor()
    account_services.account_create(BOB, PASSWORD, confirmed=True)
    mallory.log_in(BOB)
    for path in paths:
        assert mallory.get(path).status_code == 404
        assert mallory.send(path, {"name": "x"}, page=PAGE).status_code == 404

    name = "<b>ключ 😀 " + "x" * 40
    owner.send(paths[0], {"name": name})
    assert escape(name) in text_of(owner.get(PAGE))
    for refused in ("x" * (LABEL_LENGTH + 1), "right to left \u202e", " "):
        assert "errorlist" in text_of(owner.send(paths[0], {"name": refused}))
    removed = owner.send(paths[1])

    assert not Authenticator.objects.exists()
    back = owner.get(removed["Location"])
    assert back["Location"] == PAGE
    assert "The passkey is removed" in words_of(owner.get(back["Location"]))
    late = Visitor()
    answer(late, PASSKEY_LOGIN, passkey.get(ask(late, PASSKEY_LOGIN)))
    assert "may have been removed" in words_of(late.get(LOGIN))
    assert mails.wait_for(ALICE, "Second factor removed")


def test_the_number_of_passkeys_is_limited(owner, passkey, monkeypatch):
    monkeypatch.setattr(second_factor, "MAX_PASSKEYS", 1)
    another = Passkey(b"another")

    page = answer(owner, PASSKEY, another.create(ask(owner, PASSKEY)))

    assert "at most 1 passkeys" in words_of(page)


def test_at_an_ip_address_the_page_says_where_passkeys_work(owner):
    assert "only at http://localhost" in words_of(owner.get(PAGE))
    assert "only at" not in words_of(owner.get(PAGE, headers=LOCALHOST))
    assert "webauthn.js" not in text_of(Visitor().get(LOGIN))
    assert "webauthn.js" in text_of(Visitor().get(LOGIN, headers=LOCALHOST))
