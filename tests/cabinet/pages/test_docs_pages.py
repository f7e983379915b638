"""The documentation pages, rendered from docs/, with an anchor for every code."""

import json
import re
from functools import cache, partial
from html import unescape

import pytest

from readback import programs
from readback.cabinet.pages import docs
from readback.contract import REFUSALS
from readback.probe.common.catalogue import catalogue
from tests.cabinet.visitor import Visitor, text_of, words_of

pytestmark = pytest.mark.usefixtures("database")

NAMES = sorted(docs.names())


def test_the_index_links_to_every_page():
    index = text_of(Visitor().get("/docs/"))

    assert set(re.findall(r'href="/docs/([\w-]+)"', index)) == set(NAMES)


@pytest.mark.parametrize(("old", "new"), docs.MOVED.items())
def test_the_address_of_a_page_that_was_merged_leads_to_the_other(old, new):
    for path in (docs.path_of, partial(docs.path_of, markdown=True)):
        response = Visitor().get(path(old))
        assert (response.status_code, response["Location"]) == (301, path(new))


def test_the_row_of_a_setting_can_be_linked_to():
    page = text_of(Visitor().get("/docs/settings"))

    assert page.count('<tr id="readback_key_rate">') == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_page_opens_and_its_links_to_the_docs_work(name):
    page = Visitor().get(f"/docs/{name}")

    assert page.status_code == 200
    assert "<h1" in text_of(page)
    ids = re.findall(r' id="([^"]+)"', text_of(page))
    assert len(ids) == len(set(ids)), "a link leads to the first of two"
    for target in re.findall(r'href="(/docs/[^"?.]*)"', text_of(page)):
        path, _, anchor = target.partition("#")
        assert (f'id="{anchor}"' if anchor else "<h1") in opened(path), target


@cache
def opened(path: str) -> str:
    """Return a page; other pages link to it several times, with different anchors."""
    page = Visitor().get(path)
    assert page.status_code == 200, path
    return text_of(page)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_schema_of_the_probes_report_is_where_its_page_links_to_it(language):
    page = text_of(Visitor(language).get("/docs/probe"))
    link = re.search(r'href="([^"]+\.json)"', page)
    response = Visitor().get(link[1])

    assert response["Content-Type"] == "application/schema+json"
    assert json.loads(response.content)["title"].startswith("Report of readback probe")


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_page_of_errors_has_every_refusal_and_the_anchor_of_its_link(language):
    page = Visitor(language).get("/docs/errors")
    words = unescape(words_of(page))

    for code, row in REFUSALS.items():
        assert text_of(page).count(f'<h2 id="{code}">') == 1
        if language == "en":
            assert f"Status {row.status}. {row.sentence}" in words
            assert row.hint in words


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_page_of_findings_has_every_finding_in_its_language(language):
    page = Visitor(language).get("/docs/findings")

    words = unescape(words_of(page))
    for row in catalogue().findings.values():
        sentence, hint = row.texts[language]
        assert row.id in words
        for text in (sentence, hint):
            longest = max(re.split(r"\{\w+\}", text), key=len)
            assert " ".join(longest.split()) in words
        assert (f'id="{docs.anchor(row.id)}"' in text_of(page)) == bool(hint)
    # Only the page in the repository refers readers to the source.
    assert "src/readback" not in text_of(page)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_page_of_programs_has_every_program_in_its_language(language):
    words = unescape(words_of(Visitor(language).get("/docs/programs")))

    for row in programs.table():
        assert row.name in words
    instruction = {"en": "it always streams", "ru": "всегда включает потоковую"}
    assert instruction[language] in words


def test_the_page_of_programs_ends_with_examples_for_this_address():
    page = text_of(Visitor().get("/docs/programs"))

    assert page.count("sk-echo-YOUR-KEY") == 8
    assert "http://127.0.0.1:8000/v1/chat/completions" in page
