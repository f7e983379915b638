"""Logging in and out: answers, redirects and tokens."""

from django.test import override_settings

from readback.cabinet.accounts import services
from tests.cabinet.visitor import PASSWORD, Visitor, words_of

ALICE = "alice@example.org"


def test_a_confirmed_account_logs_in_with_its_address_in_any_case(alice):
    visitor = Visitor()

    fields = {"login": "Alice@Example.ORG", "password": PASSWORD}
    response = visitor.send("/accounts/login/", fields)

    assert response.headers["Location"] == "/keys/"
    assert visitor.is_logged_in


def test_a_failed_login_does_not_reveal_whether_an_account_exists(alice):
    services.account_create("bob@example.org", PASSWORD)
    carol = services.account_create("carol@example.org", PASSWORD, confirmed=True)
    services.account_deactivate(carol)

    def seen(email: str) -> tuple[int, str, list[str]]:
        page = Visitor().log_in(email, "not the password at all")
        return page.status_code, words_of(page), sorted(page.headers)

    known = seen(ALICE)
    assert known == seen("bob@example.org")
    assert known == seen("carol@example.org")
    assert known == seen("nobody@example.org")
    assert "address or password is incorrect" in known[1]


def test_a_failed_login_always_computes_one_password_hash(alice, hashed):
    Visitor().log_in(ALICE, "not the password at all")
    assert len(hashed) == 1

    Visitor().log_in("nobody@example.org", "not the password at all")
    assert len(hashed) == 2


def test_a_deactivated_account_cannot_log_in_and_is_told_why(alice):
    services.account_deactivate(alice)
    visitor = Visitor()

    response = visitor.log_in(ALICE)

    assert response.headers["Location"] == "/accounts/inactive/"
    assert "deactivated" in words_of(visitor.get("/accounts/inactive/"))
    assert not visitor.is_logged_in


def test_logging_out_needs_a_post_and_ends_the_session_on_the_server(owner):
    stolen = owner.client.cookies["session"].value

    assert owner.get("/accounts/logout/").status_code == 405
    assert owner.is_logged_in

    owner.post("/accounts/logout/")
    assert not owner.is_logged_in
    mallory = Visitor()
    mallory.client.cookies["session"] = stolen
    assert not mallory.is_logged_in


OTHER_SITES = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "http:///evil.example",
    "https://evil.example/",
    "http://127.0.0.1:9999/",
    "http://localhost/",
    "javascript:alert(1)",
    "data:text/html,hello",
    " //evil.example",
    "\t//evil.example",
    "/\t/evil.example",
    "http://127.0.0.1:8001@evil.example/",
    "\x00//evil.example",
]


@override_settings(ACCOUNT_RATE_LIMITS=False)
def test_a_login_never_redirects_to_another_site(alice):
    for url in OTHER_SITES:
        visitor = Visitor()
        fields = {"login": ALICE, "password": PASSWORD, "next": url}
        response = visitor.send("/accounts/login/", fields)

        assert response.status_code == 302, url
        assert response.headers["Location"] == "/keys/", url
        out = visitor.post("/accounts/logout/", {"next": url})
        assert out.headers["Location"] == "/", url


FORMS = [
    "/accounts/login/",
    "/accounts/logout/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/accounts/password/change/",
    "/accounts/email/",
    "/accounts/reauthenticate/",
    "/account/delete/",
    "/keys/",
]


def test_every_form_is_refused_without_its_token_or_from_another_site(owner):
    foreign = {"csrfmiddlewaretoken": "a" * 64}
    evil = {"origin": "https://evil.example"}

    for path in FORMS:
        without = owner.client.post(path)
        assert without.status_code == 403, path
        assert "This form has expired" in words_of(without)
        assert owner.client.post(path, foreign).status_code == 403, path
        page = "/account/"
        assert owner.send(path, page=page, headers=evil).status_code == 403, path
    assert owner.is_logged_in
