"""Pages for programs: /llms.txt, and the Markdown of every page."""

import re
from dataclasses import replace
from functools import cache

import pytest
from django.conf import settings
from django.test import override_settings

from readback import contract
from readback.cabinet.pages import docs
from tests.cabinet.visitor import CABINET, Visitor, text_of

pytestmark = pytest.mark.usefixtures("database")

PAGES = ["", *sorted(docs.names())]


def markdown_of(page: str) -> str:
    return f"/docs/{page or docs.INDEX}.md"


@pytest.mark.parametrize(
    ("language", "pages"), [("en", PAGES), ("ru", ["", "connect", "cli"])]
)
def test_a_page_and_its_markdown_name_each_other(language, pages):
    alternate = f'<{CABINET}{{}}>; rel="alternate"; type="text/{{}}"'
    for page in pages:
        html = Visitor(language).get(f"/docs/{page}")
        answer = Visitor(language).get(markdown_of(page))
        assert html["Link"] == alternate.format(markdown_of(page), "markdown")
        assert answer["Link"] == alternate.format(f"/docs/{page}", "html")
        assert answer["Content-Type"] == "text/markdown; charset=utf-8"
        assert answer["Cache-Control"] == html["Cache-Control"] == "public, max-age=60"
        shown_in = f'class="document" lang="{answer["Content-Language"]}"'
        assert shown_in in text_of(html), page
        assert not re.search(r"^\[//\]:|\]\(pictures/", text_of(answer), re.M), page


@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_link_resolves(language):
    for path in ("/llms.txt", *map(markdown_of, PAGES)):
        for target in re.findall(r"\]\(([^)]*)\)", read(path, language)):
            if not target.startswith((CABINET, "#")):
                assert target.startswith("https://"), f"{path}: {target}"
                continue
            address, _, anchor = target.removeprefix(CABINET).partition("#")
            assert read(address or path, language), f"{path}: {target}"
            known = anchors(address or path, language) if anchor else {""}
            assert anchor in known, f"{path}: {target}"


@cache
def read(path: str, language: str) -> str:
    answer = Visitor(language).get(path)
    assert answer.status_code == 200, path
    # One of the linked files, the probe, is not text.
    return answer.content.decode(errors="replace")


@cache
def anchors(path: str, language: str) -> set[str]:
    """Return the anchors of a page; untranslated pages link to the English ones."""
    texts = read(path, language) + read(path, "en")
    return {*map(docs.anchor, re.findall(r"^#+ (.+)$", texts, re.M))}


def test_the_markdown_has_the_parts_that_the_page_fills_in():
    config = replace(settings.CONFIG, public_base_url="https://api.example.org/v2")
    with override_settings(CONFIG=config, CABINET_URL="https://cabinet.example.org"):
        connect = text_of(Visitor().get("/docs/connect.md"))
        programs = text_of(Visitor().get("/docs/programs.md"))
        llms = text_of(Visitor().get("/llms.txt"))

    assert connect.startswith("# How to connect\n\nAPI address: `https://api.example.o")
    assert programs.count("sk-echo-YOUR-KEY") == 8
    assert "(https://cabinet.example.org/docs/cabinet.md#keys)" in connect
    assert "curl --include https://api.example.org/v2/chat/completions" in llms
    assert CABINET not in llms
    assert "`tls.expired`" in read("/docs/findings.md", "en")
    assert "LibreChat" in read("/docs/programs.md", "ru")


@pytest.mark.parametrize("page", ["none", "probe.pyz", "ru", "CHANGELOG", "a.b"])
def test_markdown_has_the_status_of_its_page(page):
    visitor = Visitor()
    for path in (f"/docs/{page}", f"/docs/{page}.md"):
        assert visitor.get(path).status_code == 404
    assert visitor.post("/docs/connect.md").status_code == 405
    assert visitor.client.head("/docs/connect.md").status_code == 200


def test_llms_txt_has_the_contract_and_every_page():
    answer = Visitor("ru").get("/llms.txt")
    assert answer["Content-Language"] == "en"
    text = text_of(answer)
    lines = text.partition("## The contract\n")[2].partition("## Doc")[0].splitlines()

    # The contract is short enough to be read in full before anything else.
    assert 30 < len(list(filter(None, lines))) <= 46
    for code, row in contract.REFUSALS.items():
        assert f"- {row.status} `{code}`: {row.sentence} {row.hint}" in lines
    linked = set(
        re.findall(rf"^- \[.+?\]\({CABINET}/docs/([\w-]+)\.md\): ", text, re.M)
    )
    assert linked == docs.names()
