"""Which passwords are accepted, and how they are stored."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest
from django.core.exceptions import ValidationError
from zxcvbn import matching

from readback.cabinet.accounts import services
from readback.cabinet.accounts.passwords import StrengthValidator
from readback.cabinet.models import User
from tests.cabinet.visitor import PASSWORD, Visitor, words_of

DATABASES = ["sqlite"]

ALICE = "alice@example.org"
CHANGE = "/accounts/password/change/"

pytestmark = pytest.mark.usefixtures("unsent_mails")

GOOD = [
    "twelve chars",
    "aaaa bbbb cccc",
    "  spaces at both ends  ",
    "пароль из двенадцати букв",
    "🔑🚪🧭⚓🐚🔭🌊🪵🧵🕯🗺🎐",
    "a\tb\u00a0c'\";--<script>${7*7}",
    "x1y2z9" + "".join(map(chr, range(0x410, 0x450))),
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
    page = Visitor().sign_up(ALICE, "elevenchars")

    assert "12" in words_of(page)
    assert not User.objects.exists()


def test_no_mix_of_characters_is_required():
    Visitor().sign_up(ALICE, "onlysmallletters")

    assert User.objects.exists()


# Each with a word of the reason that the page gives.
WEAK = {
    "123456789012": "consists of digits",
    " " * 12: "repeats",
    "🔑" * 12: "repeats",
    "x1" * 32: "repeats",
    "hunter2hunter2": "repeats",
    "iloveyou1234": "words",
    "Password1234!": "words",
    "qwertyuiop[]": "keyboard",
    "QWERTYUIOP[]": "words",
    "йцукенгшщзхъ": "keyboard",
    "пароль123456": "words",
    "abcdefghijkl": "abcd",
    "12.11.1990  ": "date",
}


def test_passwords_that_are_easy_to_guess_are_refused_with_the_reason(
    settings_without_limits,
):
    for password, reason in WEAK.items():
        words = words_of(Visitor().sign_up(ALICE, password))
        assert "too easy to guess" in words, password
        assert reason in words, (password, words)
    assert not User.objects.exists()


def test_passwords_that_many_people_had_are_refused(settings_without_limits):
    # A list of leaked passwords, some of which look strong.
    for password in ("n8zgt5p0shw=", "kartoffelpuffer", "KARTOFFELPUFFER"):
        assert "too common" in words_of(Visitor().sign_up(ALICE, password)), password
    assert not User.objects.exists()


def test_the_estimate_of_a_hostile_password_is_bounded():
    # Each character can replace several letters, so there are very many words to try.
    hostile = "4@8({[<369!1|07$5+%2" * 60_000
    ordinary = "the lamp of the harbour is not lit this evening, they told me " * 2

    assert calls_for(hostile) < 5 * calls_for(ordinary)


def calls_for(password: str) -> int:
    """Return how many functions are called to estimate a password."""
    count = 0

    def observe(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(observe)
    try:
        StrengthValidator().validate(password)
    finally:
        sys.setprofile(None)
    return count


def test_passwords_that_are_estimated_at_the_same_time_do_not_disturb_each_other(
    monkeypatch,
):
    # Easy to guess from the address of the account alone.
    names = ("zibellinoquark", "mortadellafjord")
    both_begun, find = Barrier(len(names)), matching.omnimatch

    def wait_for_the_other(*arguments):
        # It does not come if passwords are estimated one after the other.
        with suppress(BrokenBarrierError):
            both_begun.wait(0.5)
        return find(*arguments)

    def is_refused(name: str) -> bool:
        try:
            StrengthValidator().validate(name, User(email=f"{name}@example.org"))
        except ValidationError:
            return True
        return False

    monkeypatch.setattr(matching, "omnimatch", wait_for_the_other)
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(is_refused, names)) == [True, True]


def test_words_of_this_site_are_refused(settings_without_limits):
    guesses = [
        "readbackreadback",
        "Readback2026",
        "readback-echo-1",
        "vendor-cabinet-preview-echo",
        "echoechoecho",
        "alice@example.org",
    ]
    for password in guesses:
        page = Visitor().sign_up(ALICE, password)
        assert "errorlist" in page.content.decode(), password
    assert not User.objects.exists()


def test_a_change_requires_the_current_password(alice):
    visitor = Visitor()
    visitor.log_in(ALICE)
    new = {"password1": "a bell in the fog"}

    page = visitor.send(CHANGE, {"oldpassword": "wrong" * 4, **new})
    assert "The current password is incorrect" in words_of(page)
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)

    response = visitor.send(CHANGE, {"oldpassword": PASSWORD, **new})
    assert response.status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("a bell in the fog")


def test_a_change_ends_the_other_sessions_and_sends_a_mail(alice, mails):
    here, other_browser = Visitor(), Visitor()
    here.log_in(ALICE)
    other_browser.log_in(ALICE)
    new = {"password1": "a bell in the fog"}

    here.send(CHANGE, {"oldpassword": PASSWORD, **new})

    assert here.is_logged_in
    assert not other_browser.is_logged_in
    assert mails.wait_for(ALICE, "Readback password has been changed")


def test_passwords_are_stored_as_argon2id(alice):
    assert alice.password.startswith("argon2$argon2id$")
    assert PASSWORD not in alice.password


def test_a_password_of_a_megabyte_is_refused_before_it_is_hashed(alice, monkeypatch):
    hashed = []
    encode = "django.contrib.auth.hashers.Argon2PasswordHasher.encode"
    verify = "django.contrib.auth.hashers.Argon2PasswordHasher.verify"
    monkeypatch.setattr(encode, lambda *_: hashed.append(1))
    monkeypatch.setattr(verify, lambda *_: hashed.append(1))

    response = Visitor().log_in(ALICE, "x" * 1_000_000)

    assert response.status_code == 400
    assert "too large" in words_of(response)
    assert hashed == []
