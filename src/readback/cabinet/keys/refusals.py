"""Explanations of journal entries, in the reader's language.

A refused request is explained in two parts: what it proves to work, and what to change
for the program that sent it. Advice and sentences are translated like the other texts
of the pages, with the English sentence as the key; so is what to set in a program. The
detail and the names of settings are shown as they are.
"""

from collections.abc import Iterable
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from readback import differences
from readback.cabinet.models import JournalEntry, UnmatchedRequest
from readback.contract import REFUSALS, SEVERAL_ADDRESSES
from readback.differences import ADVICE, FIELD_ADVICE
from readback.programs import Program

_CODES = list(REFUSALS)
# The codes of a body that is readable JSON, in the order of the contract.
_READABLE = _CODES[
    _CODES.index("unknown_field") : _CODES.index("invalid_max_tokens") + 1
]


class Change(NamedTuple):
    """One thing to change, which removes one or more differences."""

    advice: str
    differences: tuple[str, ...]
    # What to set in the program that sent the request; empty if that is not known.
    switch: str
    # Whether the program has no such setting.
    is_impossible: bool

    @property
    def names(self) -> str:
        """The differences that the advice does not name itself."""
        return ", ".join(each for each in self.differences if each not in self.advice)


class ExplainedEntry(NamedTuple):
    """A journal entry; for a refusal, what works and what to change."""

    entry: JournalEntry
    program: Program | None = None
    works: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    sentence: str = ""
    hint: str = ""
    # The detail without its advice, which the changes contain.
    finding: str = ""
    # In a list: the number of its remedy, and whether that has the same finding.
    number: int = 0
    repeats_finding: bool = False

    @property
    def is_of_several_callers(self) -> bool:
        """Whether it is of callers that are not listed one by one."""
        return self.entry.client_address == SEVERAL_ADDRESSES

    @property
    def remedy(self) -> tuple[object, ...]:
        """What works and what to change, as it is shown."""
        if not self.changes:
            return (self.works, self.sentence, self.hint)
        is_named = any(each.switch or each.is_impossible for each in self.changes)
        program = self.program.name if self.program and is_named else ""
        return (self.works, self.changes, program)

    @property
    def cannot_comply(self) -> bool:
        """Whether no setting makes the program comply."""
        return any(each.is_impossible for each in self.changes)

    @property
    def is_connected(self) -> bool:
        """Whether the request has proved that its program can use the key."""
        return self.entry.code != "invalid_key"


class ExplainedJournal(NamedTuple):
    rows: list[ExplainedEntry]
    # The first refusal of each remedy, in the order of the rows.
    remedies: list[ExplainedEntry]


def explain(entry: JournalEntry) -> ExplainedEntry:
    program = entry.recognised
    # An older release may have written a code that no longer exists.
    row = REFUSALS.get(entry.code)
    if entry.accepted or row is None:
        return ExplainedEntry(entry, program)
    return ExplainedEntry(
        entry,
        program,
        tuple(_works(entry.code)),
        changes(entry.differences.split(), program),
        sentence(entry),
        _(row.hint),
        _finding(entry),
    )


def explain_all(entries: Iterable[JournalEntry]) -> ExplainedJournal:
    """Explain the rows of a list, and collect what to change, each thing once."""
    rows, remedies = [], dict[tuple[object, ...], ExplainedEntry]()
    for row in map(explain, entries):
        shown = row
        if row.hint:
            numbered = row._replace(number=len(remedies) + 1)
            first = remedies.setdefault(row.remedy, numbered)
            shown = row._replace(
                number=first.number, repeats_finding=row.finding == first.finding
            )
        rows.append(shown)
    return ExplainedJournal(rows, list(remedies.values()))


def changes(ids: Iterable[str], program: Program | None) -> tuple[Change, ...]:
    """Return what to change; differences that one change removes are together."""
    found: dict[tuple[str, str, bool], list[str]] = {}
    for difference in ids:
        text = program.switch(difference) if program else ""
        # gettext has the head of its catalogue for an empty text.
        switch = _(text) if text else ""
        is_impossible = bool(program and program.cannot_remove(difference))
        key = (advice(difference), switch, is_impossible)
        found.setdefault(key, []).append(difference)
    return tuple(
        Change(advice, tuple(together), switch, is_impossible)
        for (advice, switch, is_impossible), together in found.items()
    )


def advice(difference: str) -> str:
    if sentence := ADVICE.get(difference):
        return _(sentence)
    return _(FIELD_ADVICE).format(field=difference)


def sentence(entry: JournalEntry | UnmatchedRequest) -> str:
    """Return what the detail says less precisely, if the reader may need that."""
    is_english = (get_language() or "en").startswith("en")
    return "" if is_english and entry.detail else _(REFUSALS[entry.code].sentence)


def _finding(entry: JournalEntry) -> str:
    """Return the detail without the advice that the API adds to its end."""
    ids, program = entry.differences.split(), entry.recognised
    advised = [differences.advice(each) for each in ids]
    if program:
        advised += [program.hint(ids, connected=each) for each in (True, False)]
    finding, before = entry.detail, ""
    while finding != before:
        before = finding
        for sentence in advised:
            finding = finding.removesuffix(sentence).rstrip()
    return finding


def _works(code: str) -> Iterable[str]:
    """Return what a refusal with this code proves."""
    yield _("network")
    if settings.CONFIG.base_url.startswith("https:"):
        yield _("TLS")
    if code == "not_found":
        return
    yield _("address")
    if code == "invalid_key":
        return
    yield _("key")
    if code in _READABLE:
        yield _("readable JSON")
