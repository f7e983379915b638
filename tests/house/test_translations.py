"""The compiled Russian catalogue translates every text in the cabinet.

The tests do not need the gettext tools: they extract the texts as Django does, and
compare the compiled catalogue with its source.
"""

import ast
import re
from collections.abc import Iterator
from gettext import GNUTranslations
from pathlib import Path

import readback.cabinet
from readback import differences, programs
from readback.contract import REFUSALS

CABINET = Path(readback.cabinet.__file__).parent
CATALOGUE = CABINET / "locale" / "ru" / "LC_MESSAGES" / "django"
FUNCTIONS = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
LITERAL = r"""u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
ADVICE = "run scripts/messages and translate the empty entries"


def compiled() -> dict[str, str]:
    """Return the translation of each text; for a plural, the first form."""
    with CATALOGUE.with_suffix(".mo").open("rb") as file:
        raw = GNUTranslations(file)._catalog
    plain = {key: text for key, text in raw.items() if isinstance(key, str)}
    plural = {key[0]: text for key, text in raw.items() if key[1:] == (0,)}
    return {key: text for key, text in (plain | plural).items() if key}


def source() -> dict[str, str]:
    text = CATALOGUE.with_suffix(".po").read_text(encoding="utf-8")
    entries = re.findall(
        r'^(?:msgctxt "(.*)"\n)?'
        r'msgid ((?:".*"\n)+)(?:msgid_plural (?:".*"\n)+)?msgstr(?:\[0\])? '
        r'((?:".*"\n?)+)',
        text,
        re.MULTILINE,
    )
    joined = {
        f"{context}\x04{_joined(key)}" if context else _joined(key): _joined(text)
        for context, key, text in entries
    }
    return {key: text for key, text in joined.items() if key}


def _joined(lines: str) -> str:
    return "".join(ast.literal_eval(line) for line in lines.splitlines())


def texts_of_code() -> Iterator[str]:
    for path in CABINET.rglob("*.py"):
        if path.parent.name == "snippets":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _is_marked(node):
                yield node.args[0].value


def _is_marked(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return name in FUNCTIONS and isinstance(call.args[0], ast.Constant)


def texts_of_templates() -> Iterator[str]:
    from django.utils.translation.template import templatize

    for path in (CABINET / "templates").rglob("*.*"):
        code = templatize(path.read_text(encoding="utf-8"))
        for found in re.finditer(rf"gettext\({LITERAL}", code):
            yield ast.literal_eval(found[1])


def texts_of_tables() -> Iterator[str]:
    for refusal in REFUSALS.values():
        yield from (refusal.sentence, refusal.hint)
    yield from (*differences.ADVICE.values(), differences.FIELD_ADVICE)
    for program in programs.table():
        yield from filter(None, (program.setup, *program.switches.values()))


def test_every_text_has_a_translation():
    texts = {*texts_of_code(), *texts_of_templates(), *texts_of_tables()}
    translations = compiled()

    assert len(texts) > 250
    assert not sorted(text for text in texts if not translations.get(text)), ADVICE


def test_the_compiled_catalogue_matches_its_source():
    assert compiled() == source(), ADVICE


def test_translations_have_the_placeholders_of_their_texts():
    placeholder = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
    for text, translation in compiled().items():
        assert set(placeholder.findall(text)) == set(
            placeholder.findall(translation)
        ), text
