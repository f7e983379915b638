"""The catalogue: every finding and every other string, in English and Russian.

The files in `probe/texts/` have one block per finding: a line with its id, verdict,
kind of fault (if it is a problem), family (if it is a failure) and tags; the English
sentence and, after an arrow, the next step; then both in Russian. A block that starts
with `=` and an id is any other string; its English version is omitted if it equals the
id. All of them are templates, which the steps fill with facts.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from readback.probe.common.responsible import Path, who_acts
from readback.probe.common.results import (
    Diagnosis,
    Fact,
    FailureFamily,
    Fault,
    ProbeError,
    Verdict,
)

SAMPLES = {"en": "English", "ru": "Русский"}
LANGUAGES = tuple(SAMPLES)
FILES = ("entered", "connection", "tls", "http", "service", "words")
_RUSSIAN = "ru "
_ARROW = " → "
_WORD = "= "
_BLOCK_END = re.compile("\n\n|\n(?== )")


@dataclass(frozen=True)
class Template:
    id: str
    verdict: Verdict
    fault: Fault
    family: FailureFamily
    tags: frozenset[str]
    """Properties that the code uses; CONTRIBUTING.md explains each tag."""
    texts: Mapping[str, tuple[str, str]]
    """The sentence and the next step, by language."""


@dataclass(frozen=True)
class Catalogue:
    findings: Mapping[str, Template]
    words: Mapping[str, Mapping[str, str]]
    """Every other string, by id and by language."""


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    findings: dict[str, Template] = {}
    words: dict[str, Mapping[str, str]] = {}
    for name in FILES:
        data = pkgutil.get_data("readback.probe", f"texts/{name}.txt") or b""
        for block in _BLOCK_END.split(data.decode()):
            lines = [line for line in block.splitlines() if line[:1] != "#"]
            if not lines:
                continue
            at = next(n for n, line in enumerate(lines) if line.startswith(_RUSSIAN))
            russian = " ".join(lines[at:])[len(_RUSSIAN) :]
            if lines[0].startswith(_WORD):
                word, _, english = " ".join(lines[:at])[len(_WORD) :].partition(": ")
                words[word] = {"en": english or word, "ru": russian}
            else:
                texts = {"en": " ".join(lines[1:at]), "ru": russian}
                row = _template(lines[0].split(), texts)
                findings[row.id] = row
    return Catalogue(findings, words)


def _template(head: list[str], texts: Mapping[str, str]) -> Template:
    finding, verdict, *rest = head
    is_problem = verdict in (Verdict.FAIL, Verdict.WARN)
    fault = Fault(rest.pop(0)) if is_problem else Fault.NONE
    is_failure = verdict == Verdict.FAIL
    family = FailureFamily[rest.pop(0).upper()] if is_failure else FailureFamily.NONE
    parts = {code: text.partition(_ARROW) for code, text in texts.items()}
    return Template(
        finding,
        Verdict(verdict),
        fault,
        family,
        frozenset(rest),
        {code: (sentence, hint) for code, (sentence, _, hint) in parts.items()},
    )


def people(fault: Fault, language: str) -> str:
    """Return everyone who may have to act, depending on the path."""
    fixers = dict.fromkeys(who_acts(fault, path) for path in Path)
    return ", ".join(catalogue().words[fixer][language] for fixer in fixers if fixer)


def has_tag(finding: str, tag: str) -> bool:
    row = catalogue().findings.get(finding)
    return row is not None and tag in row.tags


_language = LANGUAGES[0]


def wanted(arguments: Iterable[str], environment: Mapping[str, str]) -> str:
    """Return the language that the option or else the locale selects."""
    given = list(arguments)
    # JSON is always in English, so that programs can rely on it.
    if "--json" in given:
        return LANGUAGES[0]
    options = re.findall("--language[= ](\\S+)", " ".join(given))
    variables = map(environment.get, ("LC_ALL", "LC_MESSAGES", "LANG"))
    named = next(filter(None, [*options[-1:], *variables]), "")
    code = re.split("[_.@-]", named.lower())[0]
    return code if code in LANGUAGES else LANGUAGES[0]


def use(code: str) -> None:
    global _language
    _language = code


def current() -> str:
    return _language


def say(word: str, /, **values: object) -> str:
    """Return a string in the current language; return an unknown id unchanged."""
    row = catalogue().words.get(word)
    text = row[_language] if row else word
    return text.format(**values) if values else text


def diagnose(finding: str, *, figure: str = "", **facts: Fact) -> Diagnosis:
    row = catalogue().findings[finding]
    sentence, hint = row.texts[_language]
    return Diagnosis(
        finding,
        row.verdict,
        row.family,
        row.fault,
        sentence.format(**facts),
        hint.format(**facts),
        figure,
        facts,
    )


def from_error(error: ProbeError) -> Diagnosis:
    return diagnose(error.id, figure="", **error.facts)
