"""Every text of the probe has a translation that belongs to its English."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from readback.contract import REFUSALS
from readback.probe.command import command_line
from readback.probe.common.results import Culprit, Fixer
from readback.probe.diagnoses import TEMPLATES
from readback.probe.language import EVIDENCE, english_hash
from readback.probe.output import page
from readback.probe.steps import RUN_PROGRAMS, STEPS

PROBE = Path(__file__).parents[2] / "src" / "readback" / "probe"
CATALOGUES = sorted((PROBE / "languages").glob("*.json"))

# What a variable passes to `say`.
COUNTED = [
    *("1 more failure", "{count} more failures", "1 warning", "{count} warnings"),
    *("1 more warning", "{count} more warnings"),
    "Interrupted at “{title}”; nothing failed until then.",
    "Send this report to your network's administrator or to the operator of the "
    "service. It takes an engineer: {hint}",
]


def literals() -> Iterator[tuple[str, bool]]:
    """Yield each text in the code of the probe, and whether it is passed to `say`."""
    for path in (*PROBE.rglob("*.py"), PROBE.parent / "keys.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield first.value, True
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value, False
            elif isinstance(node, ast.JoinedStr):
                parts = (getattr(one, "value", None) for one in node.values)
                texts = (one if isinstance(one, str) else "{}" for one in parts)
                yield "".join(texts), False


def named_phrases() -> list[str]:
    """Return the texts beside the findings that must be in every catalogue."""
    said = {text for text, is_said in literals() if is_said} | set(COUNTED)
    said |= {*page._STATIONS, *page._WORDS.values()}
    titles = {step.title for step in (*STEPS, RUN_PROGRAMS)}
    people = {str(one) for one in (*Fixer, *Culprit) if one}
    helps = {*EVIDENCE.values(), *(row.hint for row in REFUSALS.values())}
    helps |= {action.help for action in command_line("probe")._actions if action.help}
    return sorted(said | titles | people | helps)


def fields(text: str) -> list[str]:
    """Return the named placeholders, each once, and all of those without a name."""
    found = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    return sorted({*filter(None, found)}) + [name for name in found if not name]


def problems(path: Path) -> Iterator[str]:
    catalogue = json.loads(path.read_text(encoding="utf-8"))
    findings, phrases = catalogue["findings"], catalogue["phrases"]
    for id, row in TEMPLATES.items():
        entry = findings.get(id, {})
        if entry and (entry["english"] != english_hash(row) or "fuzzy" in entry):
            yield f"{path.name}: {id} is stale: its English has changed"
            continue
        for field in ("sentence", "hint"):
            english, text = getattr(row, field), entry.get(field, "")
            if english and not text:
                yield f"{path.name}: {id} has no {field}"
            elif fields(text) != fields(english):
                yield f"{path.name}: {id}: the placeholders of its {field} differ"
    yield from (
        f"{path.name}: {id} is no finding" for id in findings.keys() - TEMPLATES
    )
    yield from (
        f"{path.name}: no translation of {one!r}"
        for one in named_phrases()
        if not phrases.get(one)
    )
    known = {*named_phrases(), *(text for text, _ in literals())}
    words = set(re.findall(r"\w+", " ".join(known)))
    vocabulary = words | {f"{one}s" for one in words}
    for english, text in phrases.items():
        # Some texts are put together from several.
        if english not in known and not vocabulary.issuperset(
            re.findall(r"\w+", english)
        ):
            yield f"{path.name}: the probe does not say {english!r}"
        filled = english.replace("{*}", "{}")
        if fields(text) != fields(filled):
            yield f"{path.name}: the placeholders of {english!r} differ"


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.name)
def test_a_catalogue_is_sorted_and_its_texts_fit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    for part in ("findings", "phrases"):
        assert list(content[part]) == sorted(content[part])
    assert text == json.dumps(content, ensure_ascii=False, indent=1) + "\n"


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.name)
def test_every_text_has_a_translation_of_its_english(path: Path) -> None:
    assert list(problems(path)) == [], "run scripts/probe-messages"
