"""The landing page, and the layout of every page."""

import re

import pytest

from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, text_of, words_of

DATABASES = ["sqlite"]

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
    owner.send("/account/language/", {"language": "en"}, page="/account/")
    link = 'href="/language/ru?next=%2Fdocs%2F%3Fq%3Da"'
    assert link in text_of(owner.get("/docs/?q=a"))

    response = owner.get("/language/ru?next=/docs/?q=a")

    assert response["Location"] == "/docs/?q=a"
    assert 'lang="ru"' in text_of(owner.get("/keys/"))
    alice.refresh_from_db()
    assert alice.language == "en"


@pytest.mark.parametrize("path", ["//evil.example/", "https://evil.example/"])
def test_the_language_switch_leads_to_no_other_site(path):
    assert Visitor().get(f"/language/ru?next={path}")["Location"] == "/"
    assert Visitor().get("/language/xx").status_code == 404


PUBLIC_PAGES = ["/", "/docs/", "/docs/contract", "/docs/errors", "/accounts/login/"]


def test_a_visitor_reads_what_readback_is_and_can_sign_up():
    page = Visitor().get("/")

    assert "it returns the text you send, unchanged" in words_of(page)
    assert 'href="/accounts/signup/"' in text_of(page)
    assert 'href="/keys/"' not in text_of(page)


def test_a_logged_in_user_sees_the_keys_and_logs_out_by_a_form():
    page = text_of(logged_in(account()).get("/"))

    assert 'href="/keys/"' in page
    assert '<form method="post" action="/accounts/logout/">' in page


def test_the_exchange_shows_the_same_bytes_twice():
    page = text_of(Visitor().get("/"))
    rows = re.findall(r'<p class="characters".*?</p>', page, re.DOTALL)
    sent, read = (re.findall(r"<i>(\w\w)</i>", row) for row in rows)

    assert sent == read == [f"{byte:02x}" for byte in "Ready to copy? Да ✓".encode()]


@pytest.mark.parametrize("path", PUBLIC_PAGES)
def test_nothing_is_inline_that_the_content_security_policy_blocks(path):
    page = text_of(Visitor().get(path))

    assert not re.search(r"\sstyle=|\son[a-z]+=|<style|javascript:", page)
    assert not re.findall(r"<script(?![^>]* src=)", page)


@pytest.mark.parametrize("path", PUBLIC_PAGES)
def test_no_page_loads_anything_from_another_origin(path):
    page = text_of(Visitor().get(path))

    assert not re.search(r'(src|action)="(https?:)?//', page)
    assert not re.search(r'<link[^>]* href="(https?:)?//', page)
