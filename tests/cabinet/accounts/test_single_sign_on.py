"""Single sign-on with a real OpenID Connect provider, and attacks on the protocol."""

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import override_settings

from readback.cabinet import account_rules
from readback.cabinet.accounts import provider_documents, services
from readback.cabinet.accounts.single_sign_on import (
    LoginRefusedError,
    account_disconnect,
    connect_person,
)
from readback.cabinet.models import User
from readback.setting_values import SignUp
from tests.cabinet.accounts.factors import CHALLENGE, add_app_with_codes
from tests.cabinet.outgoing import wait_until_sent
from tests.cabinet.parallel import in_parallel
from tests.cabinet.visitor import CABINET, PASSWORD, Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH
from tests.support import bad_oidc_providers
from tests.support.bad_mail_servers import silent_server
from tests.support.bad_oidc_providers import bad_provider, sending
from tests.support.mailbox import text_of as mail_text
from tests.support.oidc_provider import Provider, oidc_provider
from tests.support.oidc_provider_process import DEFECTS
from tests.support.peers import answer as http_answer
from tests.support.peers import peer

ALICE, BOB, MALLORY = "alice@example.org", "bob@example.org", "mallory@example.org"
CALLBACK = "/accounts/oidc/callback/"


@pytest.fixture(scope="session")
def running_provider() -> Iterator[Provider]:
    with oidc_provider() as provider:
        provider.allow(CABINET + CALLBACK)
        yield provider


@contextmanager
def configured(**changes) -> Iterator[None]:
    """Change the single sign-on settings, as a restart with other settings would."""
    provider_documents._remembered.clear()
    config = replace(settings.CONFIG, **changes)
    providers = account_rules.providers(config)
    with override_settings(CONFIG=config, SOCIALACCOUNT_PROVIDERS=providers):
        yield


@pytest.fixture
def provider(
    running_provider, unsent_mails, settings_without_limits
) -> Iterator[Provider]:
    with configured(
        oidc_issuer=running_provider.issuer,
        oidc_client_id=running_provider.client_id,
        oidc_client_secret=running_provider.client_secret,
        oidc_name="Example Staff",
    ):
        yield running_provider


def names_of(log) -> list[object]:
    return [line["event"] for line in log.events]


def leave(visitor: Visitor, path: str = "/accounts/oidc/login/", **fields: str) -> str:
    """Press the button; return the provider's URL that the page redirects to."""
    answer = visitor.post(path, fields)
    assert answer.status_code == 200, answer
    [url] = re.findall(
        r'http-equiv="refresh" content="0; url=([^"]*)"', text_of(answer)
    )
    return html.unescape(url)


def enter(visitor: Visitor, provider: Provider, name: str, **fields: str):
    """Log in with the provider as this person, and return to the cabinet."""
    return visitor.get(provider.log_in(name, leave(visitor, **fields)))


def stored() -> str:
    """Return everything that the tables of providers and sessions contain."""
    rows = [*SocialAccount.objects.values(), *SocialToken.objects.values()]
    sessions = [each.get_decoded() for each in Session.objects.all()]
    return json.dumps([rows, sessions], default=str)


# Accounts and addresses


@ON_BOTH
def test_a_verified_address_gets_a_confirmed_account_without_a_password(provider, log):
    provider.add("alice", "Alice@Example.org")
    visitor = Visitor("ru")
    answer = enter(visitor, provider, "alice", next="/account/")

    alice = User.objects.get()
    assert answer.status_code == 302 and answer["Location"] == "/account/"
    assert visitor.is_logged_in
    assert (alice.email, alice.language) == (ALICE, "ru")
    assert not alice.has_usable_password()
    assert EmailAddress.objects.get().verified
    assert names_of(log) == ["account_created", "login_by_provider"]
    assert "Example Staff" in words_of(visitor.get("/account/"))
    visitor.send("/keys/", {"label": "by single sign-on"})
    assert alice.keys.count() == 1


def test_a_second_factor_is_asked_for_after_the_provider(provider):
    provider.add("alice", ALICE)
    first = Visitor()
    enter(first, provider, "alice")
    _, [code, *_] = add_app_with_codes(first)

    visitor = Visitor()
    answer = enter(visitor, provider, "alice", next="/account/")
    assert answer["Location"] == CHALLENGE
    assert not visitor.is_logged_in
    done = visitor.send(answer["Location"], {"code": code})
    assert done["Location"] == "/account/" and visitor.is_logged_in


def test_only_the_issuers_name_of_the_person_is_kept(provider):
    provider.add("alice", ALICE)
    enter(Visitor(), provider, "alice")

    row = SocialAccount.objects.get()
    assert row.provider == provider.issuer
    assert row.extra_data == {}
    assert not SocialToken.objects.exists()
    kept = stored()
    assert ALICE not in kept
    for secret in ("id_token", "access_token", provider.client_secret):
        assert secret not in kept


def test_an_address_that_changes_at_the_provider_does_not_change_the_account(provider):
    provider.add("alice", ALICE)
    enter(Visitor(), provider, "alice")
    for email, verified in ((BOB, True), (MALLORY, False), ("", False)):
        provider.add("alice", email, verified=verified)
        visitor = Visitor()
        enter(visitor, provider, "alice")
        assert visitor.is_logged_in

    assert User.objects.get().email == ALICE


@ON_BOTH
def test_a_confirmed_account_is_connected_and_its_owner_is_told(provider, mails, log):
    alice = services.account_create(ALICE, PASSWORD, confirmed=True)
    provider.add("alice", ALICE)
    for _ in range(2):
        enter(Visitor(), provider, "alice")

    assert SocialAccount.objects.get().user == alice
    assert names_of(log).count("provider_connected") == 1
    mail = mails.wait_for(ALICE, "Single sign-on")
    assert "Example Staff" in mail_text(mail)
    wait_until_sent()
    assert len(mails.to(ALICE)) == 1
    # The password keeps working.
    other = Visitor()
    other.log_in(ALICE)
    assert other.is_logged_in


def test_an_address_that_is_not_verified_is_refused(provider, log):
    names = ["unverified", "no-claim", "text-true", "no-address"]
    visitor = Visitor()
    for name in names:
        email = f"{name}@example.org"
        services.account_create(email, confirmed=True)
        is_verified = name not in ("unverified", "no-address")
        provider.add(name, email * (name != "no-address"), verified=is_verified)
        answer = enter(visitor, provider, name)

        assert answer.status_code == 403, name
        assert "email_verified" in words_of(answer)
    assert not visitor.is_logged_in
    assert User.objects.count() == len(names) and not SocialAccount.objects.exists()
    assert set(names_of(log)) == {"provider_refused_unverified"}


def test_an_address_that_the_sign_up_form_would_refuse_is_refused(provider):
    for number, email in enumerate(("ἀlice@example.org", "alice@example", "x" * 300)):
        provider.add(f"odd{number}", email)
        assert enter(Visitor(), provider, f"odd{number}").status_code == 403
    assert not User.objects.exists()


@ON_BOTH
def test_an_account_that_mallory_signed_up_with_alices_address_is_replaced(
    provider, log
):
    Visitor().sign_up(ALICE, "the password of mallory")
    provider.add("alice", ALICE)
    visitor = Visitor()
    enter(visitor, provider, "alice")

    assert visitor.is_logged_in
    assert not User.objects.get().has_usable_password()
    assert "account_replaced" in names_of(log)
    mallory = Visitor()
    mallory.log_in(ALICE, "the password of mallory")
    assert not mallory.is_logged_in


def test_an_unconfirmed_account_that_cannot_be_replaced_is_not_connected(provider, log):
    services.account_create(ALICE, PASSWORD)
    User.objects.update(is_staff=True)
    provider.add("alice", ALICE)
    answer = enter(Visitor(), provider, "alice")

    assert answer.status_code == 403 and "not confirmed" in words_of(answer)
    assert not SocialAccount.objects.exists()
    assert names_of(log) == ["provider_refused_unconfirmed"]
    services.account_confirm(User.objects.get())
    assert enter(Visitor(), provider, "alice").status_code == 302


def test_an_address_that_bob_wants_to_change_to_is_not_bobs(provider):
    bob = services.account_create(BOB, PASSWORD, confirmed=True)
    EmailAddress.objects.create(user=bob, email=ALICE, verified=False)
    provider.add("alice", ALICE)
    visitor = Visitor()
    enter(visitor, provider, "alice")

    assert visitor.is_logged_in
    assert SocialAccount.objects.get().user.email == ALICE


def test_a_deactivated_account_stays_deactivated(provider, log):
    alice = services.account_create(ALICE, PASSWORD, confirmed=True)
    services.account_deactivate(alice)
    provider.add("alice", ALICE)
    visitor = Visitor()
    answer = enter(visitor, provider, "alice")
    assert answer.status_code == 403 and "deactivated" in words_of(answer)
    assert not SocialAccount.objects.exists()

    services.account_activate(alice)
    enter(visitor, provider, "alice")
    services.account_deactivate(alice)
    again = Visitor()
    assert enter(again, provider, "alice").status_code == 403
    assert not again.is_logged_in and not visitor.is_logged_in
    assert names_of(log).count("provider_refused_inactive") == 2


# Who may sign up


@pytest.mark.parametrize(
    "rule",
    [SignUp("closed"), SignUp("domains", frozenset({"x.org"}))],
    ids=lambda rule: rule.mode,
)
def test_the_rules_for_signing_up_hold(provider, log, rule):
    provider.add("alice", ALICE)
    services.account_invite(BOB)
    provider.add("bob", BOB)
    log.texts.clear()
    with configured(signup=rule):
        answer = enter(Visitor(), provider, "alice")
        assert answer.status_code == 403 and "no account" in words_of(answer)
        assert names_of(log) == ["provider_refused_closed"]
        assert User.objects.get().email == BOB
        # People who were invited have an account, and may log in.
        assert enter(Visitor(), provider, "bob").status_code == 302
    assert SocialAccount.objects.get().user.email == BOB


# Pages


def test_only_a_button_starts_a_login(provider):
    visitor = Visitor()
    for page in ("/accounts/login/", "/accounts/signup/"):
        words = words_of(visitor.get(page))
        assert "Log in with Example Staff" in words and "None" not in words
    for method in (visitor.client.get, visitor.client.head):
        answer = method("/accounts/oidc/login/")
        assert answer.status_code == 302 and answer["Location"] == "/accounts/login/"
    assert visitor.client.post("/accounts/oidc/login/").status_code == 403
    assert "oidc" not in stored()


def test_without_a_provider_nothing_shows_it(unsent_mails):
    visitor = Visitor()
    assert "Log in with" not in words_of(visitor.get("/accounts/login/"))
    for path in ("login", "callback"):
        assert visitor.get(f"/accounts/oidc/{path}/").status_code == 404


def test_what_a_visitor_adds_does_not_reach_the_provider(provider):
    visitor = Visitor()
    extra = urlencode({"scope": "admin", "auth_params": "prompt=none&x=y"})
    url = leave(visitor, process="connect", scope="admin", next="//evil.example")
    query = parse_qs(urlsplit(url).query)
    url_too = leave(visitor, f"/accounts/oidc/login/?{extra}")

    assert set(query["scope"][0].split()) == {"openid", "email"}
    assert query["code_challenge_method"] == ["S256"]
    assert len(query["state"][0]) >= 16
    assert query["redirect_uri"] == [CABINET + CALLBACK]
    assert "admin" not in url_too and "prompt" not in url_too
    assert "evil" not in stored() and "connect" not in stored()


def test_a_login_never_continues_on_another_site(provider):
    provider.add("alice", ALICE)
    for bad in ("//evil.example", "https://evil.example/", "/\\evil.example"):
        answer = enter(Visitor(), provider, "alice", next=bad)
        assert answer["Location"] == "/keys/"


def test_logins_are_limited(provider):
    with override_settings(ACCOUNT_RATE_LIMITS={"login": "2/m/ip"}):
        visitor = Visitor()
        leave(visitor)
        leave(visitor)
        limited = visitor.post("/accounts/oidc/login/")
        assert limited.status_code == 429


def test_a_cancelled_login_returns_to_the_login_page(provider):
    visitor = Visitor()
    [state] = parse_qs(urlsplit(leave(visitor)).query)["state"]
    visitor.get(f"{CALLBACK}?error=access_denied&state={state}")
    assert "You cancelled the login" in words_of(visitor.get("/accounts/login/"))


# Attacks on the protocol


def test_a_token_that_is_not_for_this_login_is_refused(provider, caplog):
    visitor = Visitor()
    for defect in sorted(set(DEFECTS) - {"text-true", "no-claim"}):
        caplog.clear()
        provider.add(defect, f"{defect}@example.org")
        answer = enter(visitor, provider, defect)

        assert answer.status_code == 502, defect
        assert "The login did not work" in words_of(answer)
        assert "token" in caplog.text or "not valid" in caplog.text, defect
        assert "eyJ" not in caplog.text and "@" not in caplog.text
    assert not visitor.is_logged_in and not User.objects.exists()


def test_a_login_that_this_browser_did_not_start_is_refused(provider, caplog):
    provider.add("mallory", MALLORY)
    mallory = Visitor()
    returned = provider.log_in("mallory", leave(mallory))
    code = parse_qs(urlsplit(returned).query)["code"][0]
    alice = Visitor()
    [state] = parse_qs(urlsplit(leave(alice)).query)["state"]
    forged = [
        returned,  # with the state of another browser
        f"{CALLBACK}?code={code}&state=forged",
        f"{CALLBACK}?code={code}",
        CALLBACK,
    ]
    for url in forged:
        answer = alice.get(url)
        assert answer.status_code == 302 and answer["Location"] == "/accounts/login/"
        assert not alice.is_logged_in
    assert not caplog.text  # anyone can open these, so they must not fill the log
    # Mallory's code in Alice's login: the code belongs to another PKCE verifier.
    assert alice.get(f"{CALLBACK}?code={code}&state={state}").status_code == 502
    assert not alice.is_logged_in and not User.objects.exists()


# A provider that fails


BAD_ANSWERS = {
    "not JSON": http_answer(b"<html>"),
    "too deep for JSON": http_answer(b"[" * 60_000),
    "a number too long for JSON": http_answer(b"1" * 5_000),
    "a list": http_answer(b"[]"),
    "too large": http_answer(b'{"issuer": "%b"}' % (b"x" * 65_536)),
    "another issuer": http_answer(b'{"issuer": "https://mallory.example"}'),
    "an error": http_answer(b"", status=b"500 No"),
    "a redirect": http_answer(b"", b"Location: http://127.0.0.1:9/", status=b"302 No"),
    "not HTTP": b"hello\r\n",
}


def test_a_provider_with_a_bad_configuration_gets_our_page(provider, caplog):
    visitor = Visitor()
    for name, bad in BAD_ANSWERS.items():
        caplog.clear()
        with peer(bad) as other, configured(oidc_issuer=other.url):
            answer = visitor.post("/accounts/oidc/login/")

        assert answer.status_code == 502, name
        assert "Example Staff did not answer" in words_of(answer)
        assert f"{other.url}/" in caplog.text or "another issuer" in caplog.text, name


def test_a_provider_that_is_silent_gets_our_page(provider, monkeypatch, caplog):
    monkeypatch.setattr(provider_documents, "TIMEOUT_SECONDS", 0.2)
    with silent_server() as silent:
        issuer = silent.url.replace("smtp:", "http:")
        with configured(oidc_issuer=issuer):
            answer = Visitor().post("/accounts/oidc/login/")

    assert answer.status_code == 502
    assert "TimeoutError" in caplog.text


ENDLESSLY_NESTED = http_answer(b"[" * 30_000, b"Content-Type: application/json")


def test_a_token_answer_that_nobody_expects_gets_our_page(caplog, unsent_mails):
    for answer in (bad_oidc_providers.endless, sending(ENDLESSLY_NESTED)):
        with bad_provider(token=answer) as bad, configured(oidc_issuer=bad.issuer):
            visitor = Visitor()
            [state] = parse_qs(urlsplit(leave(visitor)).query)["state"]
            returned = visitor.get(f"{CALLBACK}?code=x&state={state}")
            assert returned.status_code == 502
    assert "AnswerTooLarge" in caplog.text and "not valid" in caplog.text


def test_a_wrong_secret_is_named_in_the_log_and_not_shown(provider, caplog):
    provider.add("alice", ALICE)
    with configured(oidc_client_secret="a-secret-that-is-wrong"):
        answer = enter(Visitor(), provider, "alice")

    assert answer.status_code == 502
    assert "token endpoint refuses this client" in caplog.text
    assert "a-secret-that-is-wrong" not in caplog.text + text_of(answer)


# Only single sign-on


def test_nothing_else_is_allowed_if_it_is_the_only_way(provider, unsent_mails):
    alice = services.account_create(ALICE, PASSWORD, confirmed=True)
    before = Visitor()
    before.log_in(ALICE)
    pending = Visitor()
    pending.sign_up(BOB)
    with configured(oidc_only=True):
        visitor = Visitor()
        page = visitor.get("/accounts/login/")
        assert "Log in with Example Staff" in words_of(page)
        assert 'type="password"' not in text_of(page)
        assert "Sign up" not in words_of(page)
        for path, fields in (
            ("/accounts/login/", {"login": ALICE, "password": PASSWORD}),
            ("/accounts/signup/", {"email": MALLORY, "password1": PASSWORD}),
            ("/accounts/password/reset/", {"email": ALICE}),
        ):
            answer = visitor.post(path, fields)
            assert answer.status_code == 403, path
            assert "no passwords here" in words_of(answer)
        assert not visitor.is_logged_in
        assert visitor.get("/accounts/signup/").status_code == 403
        assert not User.objects.filter(email=MALLORY).exists()

        # Earlier sessions that began with a password have ended.
        assert not before.is_logged_in

        # An earlier sign-up must not become a login.
        address = EmailAddress.objects.get(email=BOB)
        from allauth.account.models import EmailConfirmationHMAC

        link = f"/accounts/confirm-email/{EmailConfirmationHMAC(address).key}/"
        pending.send(link)
        assert not pending.is_logged_in

        provider.add("alice", ALICE)
        enter(visitor, provider, "alice")
        assert visitor.is_logged_in
        visitor.forget_login()
        asked = visitor.send("/keys/", {"label": "x"})
        assert asked["Location"].startswith("/accounts/reauthenticate/login/")
        assert visitor.get("/accounts/reauthenticate/").status_code == 302
        assert "Change password" not in words_of(visitor.get("/account/"))
        fields = {"password": PASSWORD}
        for path in (
            "/accounts/reauthenticate/",
            "/accounts/password/change/",
            "/accounts/password/set/",
        ):
            assert visitor.send(path, fields, page="/account/").status_code == 403
        for path in ("/accounts/password/change/", "/accounts/password/set/"):
            assert visitor.get(path).status_code == 403
        assert not alice.keys.exists()
    assert alice.has_usable_password()


# Another person with the address of someone who has left


@ON_BOTH
def test_another_person_with_the_same_address_does_not_get_the_account(
    provider, mails, log
):
    provider.add("alice", ALICE)
    first = Visitor()
    enter(first, provider, "alice")
    alice = User.objects.get()
    # The company gives the address to someone else; the account still belongs to Alice.
    provider.add("alice", MALLORY)
    provider.add("mallory", ALICE)
    visitor = Visitor()
    answer = enter(visitor, provider, "mallory")

    assert answer.status_code == 403 and not visitor.is_logged_in
    assert "belongs to somebody else" in words_of(answer)
    assert "the operator can disconnect it" in words_of(answer)
    assert names_of(log)[-1] == "provider_refused_connected"
    assert SocialAccount.objects.count() == User.objects.count() == 1

    account_disconnect(alice)

    with pytest.raises(services.ServiceError, match="not connected"):
        account_disconnect(alice)
    assert not first.is_logged_in
    assert names_of(log)[-1] == "provider_disconnected"
    mail = mails.wait_for(ALICE, "has been disconnected")
    assert "disconnected your account from Example Staff" in mail_text(mail)
    enter(visitor, provider, "mallory")
    assert visitor.is_logged_in and User.objects.count() == 1
    # If Alice gets the address back, she is the one who is refused.
    provider.add("mallory", MALLORY)
    provider.add("alice", ALICE)
    assert enter(Visitor(), provider, "alice").status_code == 403


@ON_BOTH
def test_of_two_people_with_one_address_at_once_one_gets_the_account(provider):
    services.account_create(ALICE, PASSWORD, confirmed=True)
    subjects = iter(("7", "8", "9", "10"))

    def log_in() -> str:
        try:
            return connect_person(next(subjects), ALICE).uid
        except LoginRefusedError as refused:
            return refused.reason

    found = in_parallel(log_in, 4)

    assert found.count("connected") == 3
    assert SocialAccount.objects.count() == 1
