"""Every link in the code, in deploy/ and on the pages has a target."""

import re
from pathlib import Path

import pytest

from readback.probe.common.catalogue import catalogue

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), ROOT / "bench" / "README.md", *DOCS.rglob("*.md")]
PAGES += (ROOT / "deploy").rglob("*.md")
SUFFIXES = {".py", ".html", ".txt", ".js", ".json", ".yaml", ".yml", ".cfg", ""}
CODE = [
    path
    for folder in (ROOT / "src" / "readback", ROOT / "deploy")
    for path in folder.rglob("*")
    if path.suffix in SUFFIXES and path.is_file()
]
# /docs/errors#code, docs/errors.md#code and {% url 'docs_page' 'errors' %}#code;
# docs/openapi.yaml and the report's schema are not pages.
IN_CODE = re.compile(
    r"""\bdocs(?:/|_page['"] ['"])([a-z-]+)(?![\w-]|\.yaml|\.schema)"""
    r"""(?:\.md)?(?:['"] %\})?(?:#([\w-]+))?"""
)
IN_MARKDOWN = re.compile(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)")


def anchors(page: Path) -> set[str]:
    """Return the ids of the headings as the cabinet and code hosts derive them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if page.name == "findings.md":  # the cabinet adds these headings
        headings += catalogue().findings
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_an_existing_file_and_heading(page: Path) -> None:
    for name, anchor in IN_MARKDOWN.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / name) if name else page
        assert target.exists(), f"{page}: {name}"
        assert not anchor or anchor in anchors(target), f"{page}: {name}#{anchor}"


def test_every_test_that_a_page_names_exists() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"\b([\w/]*\btest_\w+\.py)", text))
    tests = [f"/{path.relative_to(ROOT)}" for path in (ROOT / "tests").rglob("*.py")]

    assert len(named) > 5
    missing = {name for name in named if not any(t.endswith(f"/{name}") for t in tests)}
    assert missing == set()


def test_every_page_to_which_the_code_links_exists() -> None:
    links = {link for path in CODE for link in IN_CODE.findall(path.read_text("utf-8"))}

    assert {"errors", "contract", "connect"} <= {name for name, _ in links}
    for name, anchor in links:
        page = DOCS / f"{name}.md"
        assert page.is_file(), name
        assert not anchor or anchor in anchors(page), f"{name}#{anchor}"
