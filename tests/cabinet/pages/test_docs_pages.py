"""The documentation pages, rendered from docs/, with an anchor for every code."""

import json
import re
from functools import cache
from html import unescape
from urllib.parse import urlencode

import pytest

from readback.cabinet.pages import docs
from readback.contract import REFUSALS
from tests.cabinet.visitor import Visitor, text_of, words_of

DATABASES = ["sqlite"]

pytestmark = pytest.mark.usefixtures("database")

NAMES = sorted(docs.names())


def test_the_index_links_to_every_page():
    index = text_of(Visitor().get("/docs/"))

    assert "contract" in NAMES
    assert set(re.findall(r'href="/docs/([\w-]+)"', index)) == set(NAMES)


def searched(query: str, language: str = "en") -> str:
    return text_of(Visitor(language).get("/docs/?" + urlencode({"q": query})))


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(
    "query, url",
    [
        ("Error code: 401", "/docs/errors#invalid_key"),
        ("certificate verify failed", "/docs/findings#tlsuntrusted"),
        ("READBACK_KEY_RATE", "/docs/settings#readback_key_rate"),
        ("tls.wrong_name", "/docs/findings#tlswrong_name"),
        ("http.gateway", "/docs/findings#httpgateway"),
        ("content_too_large", "/docs/errors#content_too_large"),
        ("single sign-on", "/docs/single-sign-on"),
    ],
)
def test_the_search_leads_to_the_place_that_explains_it(query, url, language):
    page = searched(query, language)

    links = re.findall(r'<li><a href="([^"]+)"', page)
    found = [link if "#" in url else link.partition("#")[0] for link in links[:3]]
    assert url in found


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(
    "pasted, url",
    [
        ("openai.BadRequestError: Error code: 400", "/docs/connect#"),
        ("openai.APIConnectionError: Connection error.", "/docs/connect#"),
        ("[Errno 111] Connection refused", "/docs/findings#tcprefused"),
        (
            "curl: (60) SSL certificate problem: self-signed certificate in chain",
            "/docs/findings#tlsuntrusted",
        ),
        ("socket.gaierror: [Errno -2] Name or service not known", "#dnsunknown"),
    ],
)
def test_a_pasted_message_finds_its_symptom_whatever_surrounds_it(
    pasted, url, language
):
    first = re.search(r'<li><a href="([^"]+)"', searched(pasted, language))

    assert first and url in first[1]


def test_the_search_leads_to_the_row_of_a_setting():
    page = text_of(Visitor().get("/docs/settings"))

    assert page.count('<tr id="readback_key_rate">') == 1


@pytest.mark.parametrize(
    "language, query", [("en", "no e-mail arrives"), ("ru", "не приходит письмо")]
)
def test_the_search_knows_symptoms_in_the_readers_words(language, query):
    page = searched(query.upper(), language)

    first = re.search(r'<li><a href="([^"]+)"', page)
    assert first and "when-the-mail-server-is-unavailable" in first[1]


@pytest.mark.parametrize(
    "language, query",
    [("en", "nothing is listening on port"), ("ru", "ничего не запущено")],
)
def test_the_search_finds_a_finding_of_the_probe_by_its_words(language, query):
    page = searched(query, language)

    links = re.findall(r'<li><a href="([^"]+)"', page)
    assert "/docs/findings#tcprefused" in links[:3]
    assert "\\" not in page, "a mark of Markdown"


def test_the_search_shows_whole_sentences():
    assert (
        "A worker that is killed loses the usage and journal that it has not written: "
        "at most READBACK_JOURNAL_INTERVAL (10 seconds) and half a second, or the "
        "whole outage."
    ) in searched("killed worker loses usage")


def test_a_search_without_results_says_so_and_shows_the_words_as_text():
    page = searched("<b>zzzz</b> " + "x" * 500)

    assert "Nothing found" in page
    assert "<b>zzzz" not in page


def test_a_long_page_begins_with_its_contents():
    page = text_of(Visitor().get("/docs/contract"))

    [contents] = re.findall(r'<nav class="contents".*?</nav>', page, re.S)
    for anchor in re.findall(r'href="#([^"]+)"', contents):
        assert f'id="{anchor}"' in page
    assert "#limits" in contents


@pytest.mark.parametrize("name", NAMES)
def test_every_page_opens_and_its_links_to_the_docs_work(name):
    page = Visitor().get(f"/docs/{name}")

    assert page.status_code == 200
    assert "<h1" in text_of(page)
    ids = re.findall(r' id="([^"]+)"', text_of(page))
    assert len(ids) == len(set(ids)), "a link leads to the first of two"
    for target in re.findall(r'href="(/docs/[^"?]*)"', text_of(page)):
        path, _, anchor = target.partition("#")
        assert (f'id="{anchor}"' if anchor else "<h1") in opened(path), target


@cache
def opened(path: str) -> str:
    """Return a page to which others link, many of them with another anchor."""
    page = Visitor().get(path)
    assert page.status_code == 200, path
    return text_of(page)


def test_the_schema_of_the_probes_report_is_where_its_page_links_to_it():
    link = re.search(r'href="([^"]+\.json)"', text_of(Visitor().get("/docs/probe")))
    response = Visitor().get(f"/docs/{link[1]}")

    assert response["Content-Type"] == "application/schema+json"
    assert json.loads(response.content)["title"].startswith("Report of readback probe")


def test_a_trailing_slash_is_redirected():
    response = Visitor().get("/docs/errors/")

    assert (response.status_code, response["Location"]) == (302, "/docs/errors")


def test_an_unknown_page_is_not_found():
    assert Visitor().get("/docs/nothing").status_code == 404
    assert Visitor().get("/docs/../settings").status_code == 404


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_link_of_every_refusal_has_its_anchor(language):
    page = text_of(Visitor(language).get("/docs/errors"))

    for code in REFUSALS:
        assert page.count(f'<h2 id="{code}">') == 1


def test_the_list_of_errors_matches_the_contract():
    words = unescape(words_of(Visitor().get("/docs/errors")))

    for row in REFUSALS.values():
        assert f"Status {row.status}. {row.sentence}" in words
        assert row.hint in words


def test_how_to_connect_ends_with_programs_for_this_address():
    page = text_of(Visitor().get("/docs/connect"))

    assert page.count("sk-echo-YOUR-KEY") == 8
    assert "http://127.0.0.1:8000/v1/chat/completions" in page
