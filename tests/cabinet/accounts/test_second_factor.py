"""Second factors: adding, using, losing and removing them."""

from dataclasses import replace

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.test import override_settings

from readback.cabinet.accounts import services as account_services
from readback.cabinet.models import CacheEntry, User
from tests.cabinet.accounts.factors import (
    APP,
    APP_REMOVE,
    CHALLENGE,
    CONFIRM,
    NEW_CODES,
    PAGE,
    PASSKEY,
    App,
    add_app,
    add_app_with_codes,
    log_in,
    recovery_codes_in,
)
from tests.cabinet.accounts.test_security_log import _everything_stored
from tests.cabinet.parallel import in_parallel
from tests.cabinet.visitor import Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH
from tests.support.mailbox import text_of as body_of

ALICE = "alice@example.org"
PERIOD = 30

pytestmark = pytest.mark.usefixtures("unsent_mails")


@pytest.fixture
def app(owner, clock) -> App:
    """An app that Alice has added; its current code has not been used."""
    added = add_app(owner)
    clock[0] += PERIOD
    return added


def test_a_login_needs_the_code_of_the_app_once_it_is_added(alice, owner, clock, mails):
    app = add_app(owner)
    assert "authenticator app" in body_of(mails.wait_for(ALICE, "New second factor"))
    clock[0] += PERIOD
    visitor = Visitor()
    response = visitor.log_in(ALICE)
    assert response.headers["Location"] == CHALLENGE
    assert not visitor.is_logged_in

    wrong = visitor.send(CHALLENGE, {"code": app.wrong_code})
    assert "not correct" in words_of(wrong)
    assert not visitor.is_logged_in
    code = app.code
    visitor.send(CHALLENGE, {"code": f" {code[:3]} {code[3:]} "})

    assert visitor.is_logged_in


def test_a_page_for_a_lost_device_names_the_contact(alice, app):
    visitor = Visitor()
    visitor.log_in(ALICE)
    assert "Contact:" not in words_of(visitor.get(CHALLENGE))
    config = replace(settings.CONFIG, contact="mailto:help@example.org")
    with override_settings(CONFIG=config):
        page = visitor.get(CHALLENGE)
    assert "reset your second factor. Contact: help@example.org" in words_of(page)
    assert 'href="mailto:help@example.org"' in text_of(page)


def test_the_list_warns_when_few_recovery_codes_are_left(alice, owner):
    _, codes = add_app_with_codes(owner)
    for left, code in zip(range(9, 2, -1), codes, strict=False):
        assert "Create new codes:" not in words_of(owner.get(PAGE)), left
        log_in(ALICE, code)
    assert "Create new codes:" in words_of(owner.get(PAGE))


def test_adding_and_removing_needs_a_proof_long_after_the_login(alice, owner, app):
    owner.forget_login()

    for page in (APP_REMOVE, PASSKEY, NEW_CODES):
        asked = owner.get(page)
        assert asked.headers["Location"].startswith("/accounts/reauthenticate/?next=")
        owner.send(page, page="/account/")
    assert Authenticator.objects.count() == 2

    assert "/accounts/reauthenticate/" in text_of(owner.get(CONFIRM))
    fields = {"code": app.code, "next": PAGE}
    assert owner.send(CONFIRM, fields).headers["Location"] == PAGE
    assert owner.get(NEW_CODES).status_code == 200


def test_a_code_works_once_within_its_whole_tolerance(alice, app, monkeypatch):
    """allauth accepts a code for 90 seconds, but remembers its use for only 30."""
    used = app.code
    assert log_in(ALICE, used).is_logged_in
    # Forget the use, as allauth does after 30 s.
    CacheEntry.objects.filter(cache_key__contains="totp.used").delete()

    assert not log_in(ALICE, used).is_logged_in


@ON_BOTH
def test_one_of_many_parallel_uses_of_a_code_succeeds(alice, app):
    code = app.code

    results = in_parallel(lambda: log_in(ALICE, code).is_logged_in, 4)

    assert sorted(results) == [False, False, False, True]


@ON_BOTH
def test_wrong_codes_are_limited_for_the_account_from_all_addresses(
    alice, app, clock, log
):
    here, there = challenged("203.0.113.7"), challenged("203.0.113.8")
    for _ in range(4):
        here.post(CHALLENGE, {"code": app.wrong_code})
    there.send(CHALLENGE, {"code": app.wrong_code})

    assert there.send(CHALLENGE, {"code": app.code}).status_code == 429

    assert not there.is_logged_in
    assert [line["event"] for line in log.events].count("second_factor_failed") == 5
    assert log.last("second_factor_limited")["account"] == alice.pk
    clock[0] += 301
    there.send(CHALLENGE, {"code": app.code})
    assert there.is_logged_in


@override_settings(ACCOUNT_LOGIN_TIMEOUT=24 * 3600)  # keeps the login pending all day
def test_wrong_codes_are_limited_by_the_day(alice, app, clock):
    refused = 0
    visitor = challenged("203.0.113.7")
    for minutes in range(0, 24 * 60, 10):
        clock[0] = minutes * 60
        for _ in range(5):
            answer = visitor.post(CHALLENGE, {"code": app.wrong_code})
            refused += answer.status_code == 429
        if refused:
            break
    assert refused and minutes >= 190  # after a hundred wrong codes


def test_wrong_codes_of_the_app_do_not_block_recovery_codes(alice, owner):
    app, [code, *_] = add_app_with_codes(owner)
    visitor = challenged("203.0.113.9")
    for _ in range(6):
        last = visitor.post(CHALLENGE, {"code": app.wrong_code})
    assert last.status_code == 429

    visitor.post(CHALLENGE, {"code": code})

    assert visitor.is_logged_in


def challenged(address: str) -> Visitor:
    """Return a visitor who has entered Alice's password."""
    visitor = Visitor(address=address)
    visitor.log_in(ALICE)
    return visitor


@ON_BOTH
def test_recovery_codes_are_shown_once_and_work_once(alice, owner, mails):
    app = App(owner.get(APP))
    shown = owner.post(APP, {"code": app.code}).headers["Location"]
    page = owner.get(shown)
    codes = sorted(set(recovery_codes_in(page)))
    assert len(codes) == 10
    assert page.headers["Cache-Control"].count("no-store") == 1
    assert recovery_codes_in(owner.get(shown)) == []
    typed = " ".join(codes[0][n : n + 4] for n in range(0, 16, 4))

    assert log_in(ALICE, typed).is_logged_in
    assert not log_in(ALICE, codes[0]).is_logged_in

    assert "Codes left: 9" in body_of(mails.wait_for(ALICE, "Recovery code used"))
    assert "9 recovery codes left" in words_of(owner.get(PAGE))


def test_no_table_mail_or_log_line_contains_a_secret_or_a_code(
    alice, owner, mails, log
):
    app = App(owner.get(APP))
    during = _everything_stored()
    shown = owner.post(APP, {"code": app.code}).headers["Location"]
    between = _everything_stored()
    codes = recovery_codes_in(owner.get(shown))
    visitor = log_in(ALICE, codes[0])
    log_in(ALICE, codes[0])
    stored = during + between + _everything_stored()

    assert visitor.is_logged_in
    mails.wait_for(ALICE, "Recovery code used")
    written = [mail.as_string() for mail in mails.messages] + log.texts
    for secret in (app.secret, *codes, *(code.replace("-", "") for code in codes)):
        assert secret not in stored
        assert not any(secret in text for text in written)


def test_the_events_are_logged(alice, owner, clock, log):
    app, [code, *_] = add_app_with_codes(owner)
    log_in(ALICE, app.wrong_code)
    log_in(ALICE, code)
    owner.send(NEW_CODES)
    owner.send(APP_REMOVE)

    assert [line["event"] for line in log.events] == [
        "second_factor_added",
        "second_factor_failed",
        "second_factor_used",
        "recovery_code_used",
        "login",
        "recovery_codes_created",
        "second_factor_removed",
    ]
    assert {line["account"] for line in log.events} == {alice.pk}


def test_another_secret_key_refuses_the_code_and_says_why_in_the_log(
    alice, app, capsys, caplog
):
    with override_settings(SECRET_KEY="another-secret-" * 5):
        visitor = Visitor()
        visitor.log_in(ALICE)
        page = visitor.send(CHALLENGE, {"code": app.code})

    assert "not correct" in words_of(page)
    assert "another READBACK_SECRET_KEY" in capsys.readouterr().err + caplog.text


def test_an_account_without_a_password_confirms_with_its_code(alice, owner, app):
    User.objects.filter(pk=alice.pk).update(password="!")
    alice.refresh_from_db()
    visitor = Visitor()
    visitor.client.force_login(alice)
    visitor.forget_login()

    asked = visitor.send("/keys/", {"label": "mine"})
    assert asked.headers["Location"].startswith(f"{CONFIRM}?next=")
    fields = {"code": app.code, "next": "/keys/"}
    response = visitor.send(CONFIRM, fields)

    assert response.headers["Location"] == "/keys/"
    visitor.send("/keys/", {"label": "mine"})
    assert alice.keys.count() == 1


def test_an_account_without_any_proof_logs_in_again():
    bob = account_services.account_create("bob@example.org", confirmed=True)
    visitor = Visitor()
    visitor.client.force_login(bob)
    assert visitor.get(APP).status_code == 200
    visitor.forget_login()

    for page in (APP, PASSKEY, "/account/delete/"):
        asked = visitor.get(page)
        assert asked.headers["Location"].startswith("/accounts/reauthenticate/login/")
    again = visitor.send(asked.headers["Location"], {"next": "/account/delete/"})

    assert again.headers["Location"] == "/accounts/login/?next=%2Faccount%2Fdelete%2F"
    assert not visitor.is_logged_in
