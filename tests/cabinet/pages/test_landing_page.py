"""The landing page, and the layout of every page."""

import re

import pytest

from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, text_of

pytestmark = pytest.mark.usefixtures("database")


@pytest.mark.parametrize("path", ["/", "/docs/", "/docs/errors", "/privacy"])
def test_a_public_page_sets_no_cookie(path):
    visitor = Visitor()

    assert visitor.get(path).status_code == 200
    assert not visitor.client.cookies


def test_caches_keep_the_documentation_of_visitors_without_cookies():
    response = Visitor().get("/docs/errors")
    assert response["Cache-Control"] == "public, max-age=60"
    assert {"Cookie", "Accept-Language"} <= set(response["Vary"].split(", "))

    owner = logged_in(account())
    assert "no-store" in owner.get("/docs/errors")["Cache-Control"]


def test_the_language_of_the_footer_is_that_of_this_browser_only():
    alice = account()
    owner = logged_in(alice)
    alice.refresh_from_db()
    language_of_emails = alice.language
    assert 'name="next" value="/docs/?q=a"' in text_of(owner.get("/docs/?q=a"))

    response = owner.post("/language/", {"language": "ru", "next": "/docs/?q=a"})

    assert response["Location"] == "/docs/?q=a"
    assert 'lang="ru"' in text_of(owner.get("/keys/"))
    alice.refresh_from_db()
    assert alice.language == language_of_emails != "ru"


@pytest.mark.parametrize("path", ["//evil.example/", "https://evil.example/"])
def test_the_language_switch_leads_to_no_other_site(path):
    answer = Visitor().client.post("/language/", {"language": "ru", "next": path})
    assert answer["Location"] == "/"


def test_the_exchange_shows_the_same_bytes_twice():
    page = text_of(Visitor().get("/"))
    rows = re.findall(r'<p class="characters".*?</p>', page, re.DOTALL)
    sent, read = (re.findall(r"<i>(\w\w)</i>", row) for row in rows)

    assert sent == read == [f"{byte:02x}" for byte in "Ready to copy? Да ✓".encode()]


def test_the_menu_marks_the_part_of_the_site():
    owner = logged_in(account())
    for path in ("/keys/", "/account/", "/accounts/email/"):
        part = path.replace("accounts/email", "account")
        assert f'href="{part}" aria-current="page"' in text_of(owner.get(path)), path
