"""Back-channel logout: which sessions a token of the provider ends, and which it may.

The provider is real; it signs each token with the key of its ID tokens, or another one.
"""

import time
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from readback.cabinet.accounts import services
from readback.cabinet.single_sign_on import provider_documents
from tests.cabinet.owners import ALICE, BOB
from tests.cabinet.single_sign_on.test_single_sign_on import (
    configured,
    enter,
    events,
    leave,
    provider,
    running_provider,
)
from tests.cabinet.visitor import HOST, PASSWORD, PORT, Visitor

__all__ = ["events", "provider", "running_provider"]

EVENT = "http://schemas.openid.net/event/backchannel-logout"


def send(token: str):
    """Send a token as the provider does: without cookies, a form token or an Origin."""
    client = Client(enforce_csrf_checks=True, SERVER_NAME=HOST, SERVER_PORT=PORT)
    return client.post("/accounts/oidc/logout/", {"logout_token": token})


@pytest.fixture
def browser(provider) -> Visitor:
    """A browser in which Alice has logged in with the provider."""
    provider.add("alice", ALICE)
    visitor = Visitor()
    enter(visitor, provider, "alice")
    assert visitor.is_logged_in
    return visitor


def subject() -> str:
    return SocialAccount.objects.get(user__email=ALICE).uid


def test_a_token_for_a_person_ends_all_sessions_of_the_account_at_once(
    provider, browser, events
):
    provider.add("bob", BOB)
    bob, second, by_password = Visitor(), Visitor(), Visitor()
    enter(bob, provider, "bob")
    enter(second, provider, "alice")
    alice = SocialAccount.objects.get(user__email=ALICE).user
    alice.set_password(PASSWORD)
    alice.save()
    by_password.log_in(ALICE)

    answer = send(provider.logout_token(sub=subject()))

    assert answer.status_code == 200 and "no-store" in answer["Cache-Control"]
    for visitor in (browser, second, by_password):
        assert not visitor.is_logged_in
    assert bob.is_logged_in
    assert events.names.count("logout_by_provider") == 1


@pytest.mark.parametrize("with_subject", [True, False])
def test_a_token_for_a_session_ends_only_what_belongs_to_it(
    provider, browser, with_subject
):
    other = Visitor()
    url = leave(other)
    nonce = parse_qs(urlsplit(url).query)["nonce"][0]
    other.get(provider.log_in("alice", url))
    assert other.is_logged_in
    sid = f"session-{nonce}"
    assert sid not in str(list(UserSession.objects.values()))

    person = {"sub": subject()} if with_subject else {}
    assert send(provider.logout_token(sid=sid, **person)).status_code == 200

    assert not other.is_logged_in
    assert browser.is_logged_in
    # Somebody else's session cannot be named together with this person.
    strange = provider.logout_token(sid=sid, sub="another")
    assert send(strange).content == b"0 sessions ended\n"


def test_a_session_that_has_been_used_for_long_still_ends(provider, browser):
    """Its row is written again and again, with what the provider calls it."""
    rows = UserSession.objects.all()
    sid = rows.get().data["sid"]
    session = browser.client.session
    session["seen"] = 0
    session.save()
    assert browser.is_logged_in
    assert rows.get().data["sid"] == sid


WRONG = {
    "no events": {"events": None},
    "other event": {"events": {"http://schemas.example/other": {}}},
    "events is a list": {"events": [EVENT]},
    "event is no object": {"events": {EVENT: True}},
    "nonce": {"nonce": "n"},
    "empty nonce": {"nonce": ""},
    "other issuer": {"iss": "https://mallory.example"},
    "other audience": {"aud": "another-client"},
    "no audience": {"aud": None},
    "no jti": {"jti": None},
    "empty jti": {"jti": ""},
    "jti is a number": {"jti": 7},
    "no exp": {"exp": None},
    "no iat": {"iat": None},
    "iat is a text": {"iat": "1"},
    "expired": {"exp": 1_000_000_000},
    "issued in the future": {"iat": 4_000_000_000, "exp": 4_000_000_100},
    "issued long ago": {"iat": int(time.time()) - 3600},
    "nobody": {"sub": None},
    "sub is a number": {"sub": 7},
    "a long sid": {"sid": "x" * 300},
    "forged": {"forged": True},
    "unknown key": {"forged": True, "kid": "unknown"},
    "an access token": {"typ": "at+jwt"},
    "unsigned": {"typ": "none"},
}


def test_a_token_that_fails_a_check_ends_nothing_and_asks_no_database(
    provider, browser
):
    sub = subject()
    for name, changes in WRONG.items():
        token = provider.logout_token(**{"sub": sub, **changes})
        with CaptureQueriesContext(connection) as queries:
            answer = send(token)
        assert answer.status_code == 400, name
        assert answer.json()["error"] == "invalid_request"
        assert len(queries) == 0, name
        assert sub not in answer.content.decode()
    for token in ("", "x", "x.y.z", "x" * 9000, "\0.\0.\0"):
        assert send(token).status_code == 400
    assert browser.is_logged_in
    # What the checks accept: the other two types, and one of several audiences.
    for changes in ({"typ": "JWT"}, {"aud": [provider.client_id, "another"]}):
        assert send(provider.logout_token(sub="nobody", **changes)).status_code == 200


def test_a_token_counts_once_and_never_for_a_later_login(provider, browser):
    issued = int(time.time()) - 300
    token = provider.logout_token(sub=subject(), iat=issued)
    # The session began after the token was issued.
    assert send(token).content == b"0 sessions ended\n"
    assert browser.is_logged_in
    UserSession.objects.update(created_at=timezone.now() - timedelta(hours=1))
    again = send(token)
    assert again.status_code == 400
    assert again.json()["error_description"] == "jti was used before"
    assert browser.is_logged_in

    assert send(provider.logout_token(sub=subject(), iat=issued)).status_code == 200
    assert not browser.is_logged_in


def test_a_token_works_again_if_the_database_failed_in_between(
    provider, browser, monkeypatch
):
    from django.db import OperationalError

    from readback.cabinet.accounts import sessions

    token, end = provider.logout_token(sub=subject()), sessions.sessions_end_rows

    def fail(_rows: object) -> int:
        raise OperationalError

    monkeypatch.setattr(sessions, "sessions_end_rows", fail)
    with pytest.raises(OperationalError):
        send(token)
    monkeypatch.setattr(sessions, "sessions_end_rows", end)
    assert send(token).status_code == 200
    assert not browser.is_logged_in


def test_forged_tokens_do_not_make_us_ask_the_provider_again_and_again(
    provider, browser, monkeypatch
):
    asked = []
    fetch = provider_documents._fetch_json
    monkeypatch.setattr(
        provider_documents,
        "_fetch_json",
        lambda url: asked.append(url) or fetch(url),
    )
    token = provider.logout_token(sub="x", forged=True, kid="unknown")
    for _ in range(20):
        assert send(token).status_code == 400
    assert asked == []

    # Later once, because the provider may have a new key.
    [url] = [url for url in provider_documents._kept if "jwks" in url]
    document, until = provider_documents._kept[url]
    provider_documents._kept[url] = (document, until - 60)
    for _ in range(20):
        assert send(token).status_code == 400
    assert len(asked) == 1


def test_without_a_provider_and_with_other_methods_there_is_no_such_page(unsent_mails):
    assert send("x").status_code == 404
    with configured(oidc_issuer="https://login.example.org"):
        assert Visitor().get("/accounts/oidc/logout/").status_code == 405


def test_a_password_login_does_not_inherit_the_session_at_the_provider(
    provider, browser
):
    """The login with the provider was refused in the same browser before."""
    services.account_create(BOB, PASSWORD, confirmed=True)
    visitor = Visitor()
    session = visitor.client.session
    session["sid"] = "left over"
    session.save()
    visitor.client.cookies["session"] = session.session_key
    visitor.log_in(BOB)
    assert visitor.is_logged_in
    row = UserSession.objects.get(user__email=BOB)
    assert "sid" not in row.data
