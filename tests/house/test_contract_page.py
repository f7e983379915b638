"""Pages and conformance tests agree with the contract and other tables in the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from readback import contract, keys
from readback.http import head
from readback.probe.common.results import FailureFamily
from tests.support.api import STATUS
from tests.support.commands import environment_with

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

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
    """Return the markers of headings, code blocks and table rows, in order.

    Generated tables are left out, because they exist in English only.
    """
    text = GENERATED_TABLE.sub("", path.read_text(encoding="utf-8"))
    return re.findall(r"^(#+|```\w*|\|)", text, re.M)


def test_a_translated_page_has_the_outline_of_its_original():
    pages = list((DOCS / "ru").glob("*.md"))
    assert len(pages) > 3
    for translated in pages:
        assert outline(translated) == outline(DOCS / translated.name), translated


def test_every_code_of_http_has_a_row_in_the_contract() -> None:
    public = {name: value for name, value in vars(head).items() if name[0] != "_"}
    codes = {value for value in public.values() if isinstance(value, str)}
    assert codes and codes <= contract.REFUSALS.keys()


def test_the_conformance_tests_know_every_code() -> None:
    # A request alone cannot cause these; tests/faults and tests/wire do.
    ours = {"internal_error", "unavailable"}
    statuses = {code: row.status.value for code, row in contract.REFUSALS.items()}
    assert {code: statuses[code] for code in statuses.keys() - ours} == STATUS


def test_the_pages_with_tables_of_the_code_are_current(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "pages")],
        cwd=tmp_path,
        env=environment_with({}),
        timeout=300,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, f"run scripts/pages --write: {done.stdout}"
    assert not list(tmp_path.iterdir())


def test_the_page_of_the_probe_has_a_row_for_each_exit_code():
    page = (DOCS / "probe.md").read_text(encoding="utf-8")
    table = page.partition("| code | meaning |")[2].partition("\n\n")[0]
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
    assert codes == [family.value for family in FailureFamily]
