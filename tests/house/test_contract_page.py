"""The contract page contains every fact of the contract, in both languages."""

import re
from pathlib import Path

import pytest

from readback import contract, keys

DOCS = Path(__file__).parents[2] / "docs"

FACTS = [
    contract.MODEL,
    contract.MODELS_PATH,
    contract.CHAT_PATH,
    str(contract.MAX_HEAD_BYTES),
    str(contract.MAX_HEAD_FIELDS),
    str(contract.MAX_BODY_BYTES),
    str(contract.MAX_CONTENT_BYTES),
    str(contract.MAX_TOKENS),
    str(contract.MAX_ACTIVE_KEYS),
    str(contract.CREATED_LEAD_SECONDS),
    keys.PREFIX,
    str(keys.SECRET_LENGTH + keys.CHECKSUM_LENGTH),
    *(f"`{name}`" for name in contract.REQUEST_FIELDS),
    *(f"`messages[0].{name}`" for name in contract.MESSAGE_FIELDS),
    *(f"`{code}`" for code in contract.REFUSALS),
]
GENERATED_TABLE = re.compile(r"\((\w+): begin\).*?\(\1: end\)", re.S)


@pytest.mark.parametrize("page", ["contract.md", "ru/contract.md"])
def test_every_fact_is_on_the_page(page):
    text = (DOCS / page).read_text(encoding="utf-8")

    assert not [fact for fact in FACTS if fact not in text]


def outline(path: Path) -> list[str]:
    """Return the marks of headings, code blocks and table rows, in order.

    Tables of programs are stored in English only.
    """
    text = GENERATED_TABLE.sub("", path.read_text(encoding="utf-8"))
    return re.findall(r"^(#+|```\w*|\|)", text, re.M)


def test_a_translated_page_has_the_outline_of_its_original():
    for translated in (DOCS / "ru").glob("*.md"):
        assert outline(translated) == outline(DOCS / translated.name), translated
