"""The journal of a key as its owner reads it: with explanations.

The explanation of a refused request has two parts: what the request proves to work, and
what to change in the program that sent it. Advice, sentences and programs' settings are
translated like all text on the pages. The detail is always in English.
"""

from collections.abc import Iterable
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from readback import programs
from readback.cabinet.models import JournalEntry, UnmatchedRequest
from readback.contract import REFUSALS, SEVERAL_ADDRESSES
from readback.differences import ADVICE, FIELD_ADVICE, may_be_default

_CODES = list(REFUSALS)
# Refusals with these codes prove that the body was JSON.
_READABLE = _CODES[
    _CODES.index("unknown_field") : _CODES.index("invalid_max_tokens") + 1
]


class Change(NamedTuple):
    """One thing to change in a program, which removes one or more differences."""

    advice: str
    differences: tuple[str, ...]
    # The program's setting that does this; empty if we do not know it.
    switch: str
    # Whether the program is known to have no such setting.
    is_impossible: bool

    @property
    def names(self) -> str:
        """The differences that the advice does not mention."""
        return ", ".join(each for each in self.differences if each not in self.advice)


class ExplainedEntry(NamedTuple):
    """A journal entry; for a refusal, also what works and what to change."""

    entry: JournalEntry
    program: programs.Program | None = None
    works: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    sentence: str = ""
    hint: str = ""
    # In a list: the number of the card that says what to change, and whether that card
    # shows the same detail.
    number: int = 0
    repeats_detail: bool = False

    @property
    def is_of_several_addresses(self) -> bool:
        return self.entry.client_address == SEVERAL_ADDRESSES

    @property
    def remedies(self) -> dict[tuple[object, ...], Change | None]:
        """What to change, keyed by what the page says about it."""
        name = self.program.name if self.program else ""
        return {
            (
                change.advice,
                change.switch,
                (change.switch or change.is_impossible) and name,
            ): change
            for change in self.changes
        } or {(self.sentence, self.hint): None}

    @property
    def cannot_comply(self) -> bool:
        return any(each.is_impossible for each in self.changes)

    @property
    def may_be_unable(self) -> bool:
        """Whether the program may be unable to change what it sends."""
        ids = [
            id_ for each in self.changes if not each.switch for id_ in each.differences
        ]
        return not self.cannot_comply and any(map(may_be_default, ids))

    @property
    def is_connected(self) -> bool:
        """Whether the request has proved that its program can use the key."""
        return self.entry.code != "invalid_key"


def explain(entry: JournalEntry) -> ExplainedEntry:
    program = programs.recognise(entry.user_agent)
    # An older version may have written a code that no longer exists.
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
    )


def explain_all(entries: Iterable[JournalEntry]) -> dict[str, list[ExplainedEntry]]:
    """Return the explained rows of a list, and all changes without duplicates."""
    rows: list[ExplainedEntry] = []
    # Refusals that need changes not yet listed, each with only its new changes.
    remedies: list[ExplainedEntry] = []
    found: dict[tuple[object, ...], ExplainedEntry] = {}
    for row in map(explain, entries):
        shown = row
        if row.hint:
            wanted = row.remedies
            new = {key: wanted[key] for key in wanted if key not in found}
            if new:
                left = tuple(filter(None, new.values()))
                remedies.append(row._replace(number=len(remedies) + 1, changes=left))
                found |= dict.fromkeys(new, remedies[-1])
            first = found[next(iter(new or wanted))]
            repeats = row.entry.detail == first.entry.detail
            shown = row._replace(number=first.number, repeats_detail=repeats)
        rows.append(shown)
    return {"rows": rows, "remedies": remedies}


def changes(ids: Iterable[str], program: programs.Program | None) -> tuple[Change, ...]:
    found: dict[tuple[str, str, bool], list[str]] = {}
    for difference in ids:
        text = program.switch(difference) if program else ""
        # For an empty string, gettext returns the catalogue's header.
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
    """Return the refusal's sentence, or "" on an English page that shows a detail."""
    is_english = (get_language() or "en").startswith("en")
    return "" if is_english and entry.detail else _(REFUSALS[entry.code].sentence)


def _works(code: str) -> Iterable[str]:
    yield _("network")
    if settings.CONFIG.base_url.startswith("https:"):
        yield _("TLS")
    if code != "not_found":
        yield _("address")
    if code != "invalid_key":
        yield _("key")
    if code in _READABLE:
        yield _("readable JSON")
