"""Explanations of journal entries and unmatched requests, in the reader's language.

The contract's sentences are translated like the other texts of the pages, with the
English sentence as the key. The detail is shown exactly as the API sent it.
"""

from typing import NamedTuple

from django.utils.translation import get_language, gettext

from readback.cabinet.models import JournalEntry, UnmatchedRequest
from readback.contract import REFUSALS


class ExplainedEntry(NamedTuple):
    """A journal entry; for a refusal, what was wrong and how to fix it."""

    entry: JournalEntry | UnmatchedRequest
    sentence: str = ""
    hint: str = ""
    detail: str = ""


def explain(entry: JournalEntry | UnmatchedRequest) -> ExplainedEntry:
    # An older release may have written a code that no longer exists.
    row = REFUSALS.get(entry.code)
    if entry.accepted or row is None:
        return ExplainedEntry(entry, entry.detail)
    # The detail is more precise than the sentence, but always in English.
    if entry.detail and _is_english():
        return ExplainedEntry(entry, entry.detail, row.hint)
    detail = entry.detail if entry.detail != row.sentence else ""
    return ExplainedEntry(entry, gettext(row.sentence), gettext(row.hint), detail)


def _is_english() -> bool:
    return (get_language() or "en").startswith("en")
