"""Explanations of journal entries, in the reader's language.

A refused request is explained in two parts: what it proves to work, and what to change
for the program that sent it. Advice and sentences are translated like the other texts
of the pages, with the English sentence as the key. The detail and the names of settings
are shown as they are.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from readback import programs
from readback.cabinet.models import JournalEntry, UnmatchedRequest
from readback.contract import REFUSALS
from readback.differences import ADVICE, FIELD_ADVICE
from readback.programs import RecognisedProgram

_CODES = list(REFUSALS)
# The codes of a body that is readable JSON, in the order of the contract.
_READABLE = _CODES[
    _CODES.index("unknown_field") : _CODES.index("invalid_max_tokens") + 1
]

_DIFFERENCES_SHOWN = 12


class Change(NamedTuple):
    """One thing to change, which removes one or more differences."""

    advice: str
    differences: list[str]
    # What to set in the program that sent the request; empty if that is not known.
    switch: str
    # The program has no such setting.
    is_impossible: bool

    @property
    def names(self) -> str:
        """The differences that the advice does not name itself."""
        return ", ".join(each for each in self.differences if each not in self.advice)


class ExplainedEntry(NamedTuple):
    """A journal entry; for a refusal, what works and what to change."""

    entry: JournalEntry
    program: RecognisedProgram | None = None
    works: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    sentence: str = ""
    hint: str = ""

    @property
    def cannot_comply(self) -> bool:
        return any(change.is_impossible for change in self.changes)

    @property
    def is_connected(self) -> bool:
        """Whether the request has proved that its program can use the key."""
        return self.entry.code != "invalid_key"


class CountedDifference(NamedTuple):
    """How often a difference occurs in a journal, and what removes it."""

    change: Change
    # The program that has sent it last.
    program: RecognisedProgram | None
    requests: int
    # Compared with the most frequent difference.
    percent: int


def explain(entry: JournalEntry) -> ExplainedEntry:
    differences = entry.differences.split()
    program = programs.recognise(entry.user_agent, differences)
    # An older release may have written a code that no longer exists.
    row = REFUSALS.get(entry.code)
    if entry.accepted or row is None:
        return ExplainedEntry(entry, program)
    return ExplainedEntry(
        entry,
        program,
        tuple(_works(entry.code)),
        changes(differences, program),
        sentence(entry),
        _(row.hint),
    )


def changes(
    differences: Iterable[str], program: RecognisedProgram | None
) -> tuple[Change, ...]:
    """Return what to change; differences that one change removes are together."""
    found: dict[tuple[str, str, bool], list[str]] = {}
    for difference in differences:
        switch = program.switch(difference) if program else ""
        impossible = program is not None and program.cannot_remove(difference)
        key = (advice(difference), switch, impossible)
        found.setdefault(key, []).append(difference)
    return tuple(
        Change(advice, differences, switch, impossible)
        for (advice, switch, impossible), differences in found.items()
    )


def count_differences(entries: Iterable[JournalEntry]) -> list[CountedDifference]:
    """Return how often each difference occurs, the most frequent first."""
    counts: Counter[str] = Counter()
    program: dict[str, RecognisedProgram | None] = {}
    for entry in entries:
        ids = entry.differences.split()
        recognised = programs.recognise(entry.user_agent, ids)
        for difference in ids:
            counts[difference] += entry.requests
            # The entries are sorted, the newest first.
            program.setdefault(difference, recognised)
    top = max(counts.values(), default=0)
    return [
        CountedDifference(
            changes([difference], program[difference])[0],
            program[difference],
            requests,
            round(requests / top * 100),
        )
        for difference, requests in counts.most_common(_DIFFERENCES_SHOWN)
    ]


def advice(difference: str) -> str:
    if sentence := ADVICE.get(difference):
        return _(sentence)
    return _(FIELD_ADVICE).format(field=difference)


def sentence(entry: JournalEntry | UnmatchedRequest) -> str:
    """Return what the detail says less precisely, if the reader may need that."""
    is_english = (get_language() or "en").startswith("en")
    return "" if is_english and entry.detail else _(REFUSALS[entry.code].sentence)


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
