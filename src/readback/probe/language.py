"""The language of a report: English, or what a catalogue in `languages/` says instead.

A catalogue has the texts of each finding by its id, and everything else by its English
text, which may be a template: `{}` matches one word, and `{*}` any text, which is then
translated as well. Lists are translated item by item, if no item is the prose of a
machine. What a catalogue lacks is shown in English. Ids, facts and what machines say
stay as they are.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from string import Formatter

from readback.probe.common.results import Diagnosis, Fact, StepResult
from readback.probe.diagnoses import TEMPLATES, rendered

LANGUAGES = ("en", "ru")
_OPTION = "--language"
# What helps an engineer, by the name of the fact.
EVIDENCE = {
    "host": "host",
    "port": "port",
    "addresses": "IP addresses",
    "attempts": "attempts",
    "proxy": "proxy",
    "variable": "variable",
    "status": "status",
    "location": "redirect to",
    "by": "responded by",
    "reason": "reason",
    "detail": "explanation",
    "subject": "certificate for",
    "issuer": "issued by",
    "since": "valid from",
    "until": "valid until",
    "sent": "bytes sent",
    "received": "bytes received",
    "sent_to": "key sent to",
}
_PROSE = re.compile("[A-Za-z]{2,} [a-z]{2,}")


class Catalogue:
    """The texts of one language; the one of English is empty."""

    def __init__(self, code: str) -> None:
        self.code = code
        is_english = code == LANGUAGES[0]
        name = f"languages/{code}.json"
        data = None if is_english else pkgutil.get_data(__name__, name)
        content = json.loads(data) if data else {"findings": {}, "phrases": {}}
        self.findings: dict[str, dict[str, str]] = content["findings"]
        self.phrases: dict[str, str] = content["phrases"]
        self._patterns = []
        for english in sorted(self.phrases, key=len, reverse=True):
            if "{}" in english or "{*}" in english:
                # One word, so that a sentence of a server is not taken for ours.
                pattern = re.escape(english).replace(r"\{\}", r"(\S+)")
                # Columns are aligned with more than one space.
                pattern = pattern.replace(r"\{\*\}", "(.+?)").replace(r"\ ", " +")
                self._patterns.append((re.compile(pattern), self.phrases[english]))

    def phrase(self, text: str) -> str:
        """Return a text that may be a filled template of the catalogue."""
        if text in self.phrases or not self.phrases or text.startswith("“"):
            return str(self.phrases.get(text) or text)
        if listed := self._listed(text, "; "):
            return listed
        for pattern, translation in self._patterns:
            if match := pattern.fullmatch(text):
                return str(translation.format(*map(self.phrase, match.groups())))
        found = (self._listed(text, one) for one in (", ", ": ", " and "))
        return next(filter(None, found), text)

    def _listed(self, text: str, separator: str) -> str:
        """Return the text as a list of phrases, or "" if an item is others' prose."""
        items = text.split(separator)
        if len(items) == 1:
            return ""
        shown = [self.phrase(one) for one in items]
        pairs = zip(items, shown)  # noqa: B905
        if any(a == b and _PROSE.search(a) for a, b in pairs):
            return ""
        return str(self.phrases.get(separator, separator)).join(shown)


_catalogue = Catalogue("en")


def wanted(arguments: Iterable[str], environment: Mapping[str, str]) -> str:
    """Return the language that an option or else the terminal asks for."""
    named = ""
    given = list(arguments)
    for option, following in zip(given, [*given[1:], ""]):  # noqa: B905
        if option == _OPTION:
            named = following
        elif option.startswith(f"{_OPTION}="):
            named = option.partition("=")[2]
    # A program that reads JSON should not depend on the locale.
    if not named and "--json" not in given:
        variables = ("LC_ALL", "LC_MESSAGES", "LANG")
        named = next(filter(None, map(environment.get, variables)), "")
    code = re.split("[_.@-]", named.lower())[0]
    return code if code in LANGUAGES else "en"


def use(code: str) -> None:
    """Let all texts from now on be in this language."""
    global _catalogue
    if code != _catalogue.code:
        _catalogue = Catalogue(code)


def current() -> str:
    return _catalogue.code


def say(text: str, **values: object) -> str:
    """Return a text of ours in the current language, filled with the values."""
    if not values:
        return _catalogue.phrase(text)
    return (_catalogue.phrases.get(text) or text).format(**values)


def localized(diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with its texts in the current language."""
    if not _catalogue.findings:
        return diagnosis
    facts = {name: _localized_fact(fact) for name, fact in diagnosis.facts.items()}
    english = TEMPLATES[diagnosis.id]
    texts = _catalogue.findings.get(diagnosis.id, {})
    if texts.get("english") != english_hash(english):  # It may lack a placeholder.
        texts = {}
    templates = replace(
        english,
        sentence=texts.get("sentence") or english.sentence,
        hint=texts.get("hint") or english.hint,
    )
    details = tuple(map(_catalogue.phrase, diagnosis.details))
    shown = rendered(diagnosis, templates, facts)
    return replace(shown, facts=diagnosis.facts, details=details)


def english_hash(row: Diagnosis) -> str:
    """Return what changes whenever the English texts of a finding do."""
    text = f"{row.sentence} → {row.hint}"
    return sha256(text.encode()).hexdigest()[:8]


def localized_results(results: Iterable[StepResult]) -> list[StepResult]:
    return [
        StepResult(one.step, say(one.title), localized(one.diagnosis))
        for one in results
    ]


def evidence(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the facts for an engineer that its texts do not contain."""
    texts = TEMPLATES[diagnosis.id]
    told = {name for _, name, _, _ in Formatter().parse(texts.sentence + texts.hint)}
    return {
        say(title): _as_text(diagnosis.facts[name])
        for name, title in EVIDENCE.items()
        if name not in told and diagnosis.facts.get(name) not in (None, "", [], {})
    }


def _as_text(fact: Fact) -> str:
    if isinstance(fact, dict):
        return "; ".join(f"{say(name)}: {_as_text(one)}" for name, one in fact.items())
    if isinstance(fact, list):
        return ", ".join(map(_as_text, fact))
    return str(_localized_fact(fact))


def _localized_fact(fact: Fact) -> Fact:
    return _catalogue.phrase(fact) if isinstance(fact, str) else fact
