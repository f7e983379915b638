"""The list of sessions: what it shows, and how its owner ends them."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models.signals import post_save
from django.test.utils import CaptureQueriesContext

from readback.cabinet.accounts import services, sessions
from readback.cabinet.models import Key
from tests.cabinet.accounts.test_sessions import Clock, clock
from tests.cabinet.visitor import PASSWORD, Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH

ALICE, BOB = "alice@example.org", "bob@example.org"
PAGE = "/account/sessions/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)

__all__ = ["Clock", "clock"]


def log_in(email: str = ALICE, user_agent: str = FIREFOX, **options) -> Visitor:
    visitor = Visitor(**options)
    visitor.client.defaults["HTTP_USER_AGENT"] = user_agent
    visitor.log_in(email)
    return visitor


def test_the_page_names_browsers_and_shortened_addresses(alice):
    visitor = log_in()
    log_in(user_agent=IPHONE, address="2001:db8:1:2::3")
    log_in(user_agent="<script>alert(1)</script>", address="unknown")

    page = words_of(visitor.get(PAGE))

    assert "Firefox on Linux this browser 203.0.113.0" in page
    assert "Safari on iPhone 2001:db8:1::" in page
    assert "Unknown browser unknown" in page
    assert page.count("this browser") == 1
    stored = str(list(UserSession.objects.values()))
    for sent in ("Mozilla", "script", "203.0.113.7", "2001:db8:1:2"):
        assert sent not in stored


def test_ending_all_others_keeps_this_one_and_those_of_other_accounts(alice, log):
    services.account_create(BOB, PASSWORD, confirmed=True)
    bob = log_in(BOB)
    others = [log_in() for _ in range(2)]
    visitor = log_in()

    visitor.send(PAGE)

    assert visitor.is_logged_in and bob.is_logged_in
    assert not any(other.is_logged_in for other in others)
    assert UserSession.objects.count() == Session.objects.count() == 2
    for each in (visitor, bob):
        assert text_of(each.get(PAGE)).count("<tr>") == 2
    assert log.last("other_sessions_ended")["account"] == alice.pk


def test_deactivating_an_account_ends_its_sessions(alice):
    visitor = log_in()

    services.account_deactivate(alice)
    services.account_activate(alice)

    assert not visitor.is_logged_in


@ON_BOTH
def test_the_table_is_written_at_most_once_in_ten_minutes(alice, clock):
    visitor = log_in()
    visitor.get("/account/")

    def writes() -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            visitor.get("/account/")
        return [q["sql"] for q in queries if not q["sql"].startswith("SELECT")]

    assert writes() == []
    clock.ahead += timedelta(minutes=11)
    seen = UserSession.objects.get().last_seen_at
    assert any("usersession" in sql for sql in writes())
    assert UserSession.objects.get().last_seen_at - seen > timedelta(minutes=10)
    assert writes() == []


def test_expired_sessions_and_no_others_are_deleted_and_not_listed(alice, clock):
    for _ in range(2):
        log_in()
    clock.ahead += timedelta(days=1)
    still_on = log_in()
    clock.ahead += timedelta(days=1, minutes=1)
    visitor = log_in()
    assert words_of(visitor.get(PAGE)).count("Firefox on Linux") == 2
    assert Session.objects.count() == 4

    services.expired_delete()

    assert UserSession.objects.count() == Session.objects.count() == 2
    assert still_on.is_logged_in


def test_the_oldest_of_very_many_sessions_end(alice, monkeypatch):
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 2)
    visitors = [log_in() for _ in range(3)]

    assert [visitor.is_logged_in for visitor in visitors] == [False, True, True]
    assert UserSession.objects.count() == Session.objects.count() == 2


def test_a_session_that_ends_while_a_page_is_made_leads_to_the_login(alice):
    visitor = log_in()
    # Creating a key changes the session, which holds the key for one page.
    fields = {"label": "x", "days": ""}

    def end_all(sender, instance, **_):
        sessions.sessions_end(alice)

    post_save.connect(end_all, sender=Key)
    try:
        answer = visitor.send("/keys/", fields)
    finally:
        post_save.disconnect(end_all, sender=Key)

    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
