"""The landing page, and the layout of every page."""

import re

import pytest

from tests.cabinet.owners import account, logged_in
from tests.cabinet.visitor import Visitor, text_of, words_of

DATABASES = ["sqlite"]

pytestmark = pytest.mark.usefixtures("database")

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
