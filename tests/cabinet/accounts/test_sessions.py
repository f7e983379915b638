"""How a session starts, how long it lasts, and what ends it."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from readback.cabinet.keys.services import key_create
from readback.cabinet.serving.errors import bad_request
from tests.cabinet.accounts.test_security_log import _everything_stored
from tests.cabinet.visitor import PASSWORD, Visitor, words_of

ALICE = "alice@example.org"
NEW_PASSWORD = "another lamp, another harbour"


class Clock:
    """Django's clock; the test advances it."""

    def __init__(self) -> None:
        self.ahead = timedelta()
        self._now = timezone.now

    def __call__(self):
        return self._now() + self.ahead


@pytest.fixture
def clock(monkeypatch) -> Clock:
    # Import Django's cache before the patch, so that it keeps the real clock.
    import_module("django.core.cache.backends.db")
    moved = Clock()
    monkeypatch.setattr("django.utils.timezone.now", moved)
    return moved


def test_a_copy_of_the_database_opens_no_session(owner):
    cookie = owner.client.cookies["session"].value

    assert owner.is_logged_in
    assert cookie not in _everything_stored()
    for stored in Session.objects.values_list("session_key", flat=True):
        thief = Visitor()
        thief.client.cookies["session"] = stored
        assert not thief.is_logged_in


def test_an_unused_session_ends_after_two_days(owner, clock):
    assert owner.is_logged_in

    clock.ahead += timedelta(days=2, minutes=1)

    assert not owner.is_logged_in


def test_a_session_in_use_is_extended_up_to_two_weeks(owner, clock):
    for _ in range(13):
        assert owner.is_logged_in
        clock.ahead += timedelta(days=1)
    assert owner.is_logged_in

    clock.ahead += timedelta(days=1, minutes=1)

    assert not owner.is_logged_in


def test_a_late_answer_does_not_remove_the_cookie_of_a_newer_session(owner):
    """A page in another window sends the cookie of a session that has ended."""
    late = Visitor()
    late.client.cookies["session"] = owner.client.cookies["session"].value
    ended = owner.post("/accounts/logout/")
    assert "session" in ended.cookies

    answer = late.get("/keys/")

    assert answer.status_code == 302
    assert "session" not in answer.cookies
    # The session ended while the page was being rendered.
    assert "session" not in bad_request(HttpRequest(), SessionInterrupted()).cookies


def test_a_key_needs_the_password_again_long_after_the_login(alice, owner):
    old = key_create(alice, "old").key
    owner.forget_login()

    rotated = owner.send(f"/keys/{old.pk}/rotate/", {"overlap": "24"})
    assert rotated.headers["Location"].startswith("/accounts/reauthenticate/")
    asked = owner.send("/keys/", {"label": "mine"})
    assert asked.headers["Location"] == "/accounts/reauthenticate/?next=%2Fkeys%2F"
    assert alice.keys.count() == 1

    page = asked.headers["Location"]
    assert "send the form again" in words_of(owner.get(page))
    wrong = {"password": "not the password", "next": "/keys/"}
    owner.send("/accounts/reauthenticate/", wrong, page=page)
    assert owner.send("/keys/", {"label": "mine"}).headers["Location"] == page
    right = {"password": PASSWORD, "next": "/keys/"}
    response = owner.send("/accounts/reauthenticate/", right, page=page)

    # The form was not stored, so it is sent again.
    assert response.headers["Location"] == "/keys/"
    assert alice.keys.count() == 1
    owner.send("/keys/", {"label": "mine"})
    assert {key.label for key in alice.keys.all()} == {"old", "mine"}


def test_a_form_that_meets_an_old_login_is_kept_nowhere(alice, owner):
    alice.set_unusable_password()
    alice.save()
    owner.client.force_login(alice)
    owner.forget_login()
    name = "a name nobody else has"
    header = "a header nobody else sends"
    forms = (
        ("/accounts/password/set/", {"password1": NEW_PASSWORD}),
        ("/accounts/email/", {"email": "new@example.org", "action_add": ""}),
        ("/keys/", {"label": name}),
    )

    for path, fields in forms:
        asked = owner.post(path, fields, headers={"X-Test": header})
        assert asked.status_code == 302
        stored = _everything_stored()
        stored += str([each.get_decoded() for each in Session.objects.all()])
        for secret in (*fields.values(), header, owner.client.cookies["csrf"].value):
            assert not secret or secret not in stored, path


def test_cookies_of_other_sites_are_read_without_their_escapes(owner):
    # Some versions of Python take quadratic time to read a cookie with many escapes.
    cookies = {name: cookie.value for name, cookie in owner.client.cookies.items()}
    ours = "; ".join(f"{name}={value}" for name, value in cookies.items())
    hostile = '"' + "\\" * 8_000 + '"'

    answer = owner.get("/keys/", HTTP_COOKIE=f"other={hostile}; {ours}")

    assert answer.status_code == 200  # still logged in: the session cookie was read
    assert {"other": "", **cookies} == answer.wsgi_request.COOKIES
