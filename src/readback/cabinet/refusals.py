"""What the journal says of a request, in the reader's language.

The contract's sentences are translated like any other text of the pages, under
their English words. The detail is what the API said over the wire, as it said it.
"""

from typing import NamedTuple

from django.utils.translation import get_language, gettext

from readback.cabinet.models import JournalEntry
from readback.contract import REFUSALS


class Explained(NamedTuple):
    """A request of the journal; for a refusal, what was wrong and how to mend it."""

    entry: JournalEntry
    sentence: str = ""
    hint: str = ""
    detail: str = ""


def explain(entry: JournalEntry) -> Explained:
    # An older release may have written a code that this one does not know.
    row = REFUSALS.get(entry.code)
    if entry.accepted or row is None:
        return Explained(entry, entry.detail)
    # The detail says the same more exactly, but in English.
    if entry.detail and _english():
        return Explained(entry, entry.detail, row.hint)
    detail = entry.detail if entry.detail != row.sentence else ""
    return Explained(entry, gettext(row.sentence), gettext(row.hint), detail)


def _english() -> bool:
    return (get_language() or "en").startswith("en")
