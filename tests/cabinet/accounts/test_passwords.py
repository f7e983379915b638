"""Which passwords are accepted, and how they are stored."""

import re
from contextlib import suppress

import pytest
from django.core.exceptions import ValidationError

from readback.cabinet.accounts import services
from readback.cabinet.accounts.passwords import StrengthValidator
from readback.cabinet.models import User
from tests.cabinet.visitor import PASSWORD, Visitor, words_of

ALICE = "alice@example.org"
CHANGE = "/accounts/password/change/"

pytestmark = pytest.mark.usefixtures("unsent_mails")

GOOD = [
    "twelve chars",
    "  spaces at both ends  ",
    "пароль из двенадцати букв",
    "🔑🚪🧭⚓🐚🔭🌊🪵🧵🕯🗺🎐",
    "a\tb\u00a0c'\";--<script>${7*7}",
    "".join(map(chr, range(0x410, 0x4F0, 3))),
    "one long sentence " * 50,
]


def test_any_characters_are_accepted_and_all_of_them_count(
    alice, settings_without_limits
):
    for password in GOOD:
        services.account_delete(alice)
        Visitor().sign_up(ALICE, password)
        alice = User.objects.get()
        services.account_confirm(alice)

        whole, cut = Visitor(), Visitor()
        whole.log_in(ALICE, password)
        cut.log_in(ALICE, password[:-1])
        assert whole.is_logged_in, password
        assert not cut.is_logged_in, password


def test_a_short_password_is_refused_with_the_minimum_length():
    assert "12" in words_of(Visitor().sign_up(ALICE, "elevenchars"))
    assert not User.objects.exists()


WEAK = [
    "123456789012",
    " " * 12,
    "🔑" * 12,
    "x1" * 32,
    "hunter2hunter2",
    "aaaa bbbb cccc",
    "iloveyou1234",
    "Password1234!",
    "Passwort2024!",
    "qwertyuiop12",
    "QWERTYUIOP[]",
    "йцукенгшщзхъ",
    "пароль123456",
    "abcdefghijkl",
    "12.11.1990  ",
    # From a list of leaked passwords, some of which look strong.
    "n8zgt5p0shw=",
    "kartoffelpuffer",
    "KARTOFFELPUFFER",
    # Words from this site, and the account's address.
    "readbackreadback",
    "Readback2026",
    "readback-echo-1",
    "vendor-cabinet-preview-echo",
    "echoechoecho",
    ALICE,
]


def test_passwords_that_are_easy_to_guess_are_refused_with_one_reason(
    settings_without_limits,
):
    for password in WEAK:
        page = Visitor().sign_up(ALICE, password)
        assert "too easy to guess" in words_of(page), password
        [errors] = re.findall(r"errorlist.*?</ul>", page.content.decode(), re.S)
        assert errors.count("<li>") == 1, password
    assert not User.objects.exists()


def test_a_hostile_password_takes_no_longer_than_others():
    validate = StrengthValidator().validate
    for hostile in ("1!i|l4@a0o3e$5s7t" * 60_000, "ab" * 500_000 + "c"):
        with suppress(ValidationError):
            validate(hostile)


def test_a_change_needs_the_password_ends_other_sessions_and_sends_a_mail(
    alice, owner, mails
):
    other_browser = Visitor()
    other_browser.log_in(ALICE)
    new = {"password1": "a bell in the fog"}

    page = owner.send(CHANGE, {"oldpassword": "wrong" * 4, **new})
    assert "The current password is incorrect" in words_of(page)
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)
    assert other_browser.is_logged_in

    owner.send(CHANGE, {"oldpassword": PASSWORD, **new})
    alice.refresh_from_db()
    assert alice.check_password("a bell in the fog")
    assert owner.is_logged_in and not other_browser.is_logged_in
    assert mails.wait_for(ALICE, "Readback password has been changed")


def test_a_password_of_a_megabyte_is_refused_before_it_is_hashed(alice, hashed):
    response = Visitor().log_in(ALICE, "x" * 1_000_000)

    assert response.status_code == 400
    assert "too large" in words_of(response)
    assert hashed == []
