"""The catalogue contains all of the probe's texts in both languages, and no others."""

import ast
import re
from functools import cache
from pathlib import Path
from string import Formatter

from readback.probe.command import _OPTIONS
from readback.probe.common import catalogue
from readback.probe.common.results import Fixer
from readback.probe.runner import STEPS

PROBE = Path(catalogue.__file__).parents[1]
# argparse's own texts.
OTHERS = {
    *("positional arguments", "options", "show this help message and exit"),
    "expected one argument",
}
# These are the same in all languages.
NAMES = {"DNS", "TCP", "TLS", "HTTP", "User-Agent"}


@cache
def literals() -> list[tuple[str, bool]]:
    """Return each text in the probe's code, and whether it is passed to `say`."""
    found: list[tuple[str, bool]] = []
    for path in PROBE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say":
                if isinstance(node.args[0], ast.Constant):
                    found.append((node.args[0].value, True))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append((node.value, False))
    return found


def said() -> set[str]:
    """Return all texts that must be in the catalogue, except those of findings."""
    titles = {step.title for step in STEPS}
    people = {str(fixer) for fixer in Fixer if fixer}
    return (
        {text for text, is_said in literals() if is_said}
        | {*_OPTIONS}
        | titles
        | people
    )


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_text_has_a_translation() -> None:
    assert said() - set(catalogue.catalogue().words) == NAMES


def test_the_catalogue_has_no_text_that_nobody_says() -> None:
    known = said() | {text for text, _ in literals()}
    assert set(catalogue.catalogue().words) - known == OTHERS


def test_a_translation_has_the_placeholders_of_its_english() -> None:
    for word, texts in catalogue.catalogue().words.items():
        assert fields(texts["en"]) == fields(texts["ru"]), word
    for row in catalogue.catalogue().findings.values():
        for english, russian in zip(row.texts["en"], row.texts["ru"], strict=True):
            assert fields(english) == fields(russian), row.id
            assert bool(english) == bool(russian), row.id


def test_every_finding_is_found_by_the_code() -> None:
    known = {text for text, _ in literals()}
    ids = set(catalogue.catalogue().findings)
    assert ids - known == set()
    topics = {finding.partition(".")[0] for finding in ids}
    pattern = re.compile(rf"(?:{'|'.join(topics)})\.[a-z_0-9]+")
    named = {text for text in known if pattern.fullmatch(text)}
    assert named - ids == {"tls.failed", "echo.full"}


def test_every_tag_is_one_that_the_code_asks_for() -> None:
    tags = {tag for row in catalogue.catalogue().findings.values() for tag in row.tags}
    assert tags <= {text for text, _ in literals()}
