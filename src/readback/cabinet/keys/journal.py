"""The journal of a key as its owner reads it, with its filters.

Programs are recognised in Python, so the filters work on rows and not in the database.
That is cheap: a key has at most 2 × JOURNAL_ROWS of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from readback.cabinet.keys import selectors
from readback.cabinet.models import CODE_LENGTH, JournalEntry, Key
from readback.contract import JOURNAL_USER_AGENT_LENGTH
from readback.programs import Program

ACCEPTED, REFUSED = "accepted", "refused"

# A key can have used 200 programs. All of them would make the page too large.
_OFFERED = 20


class JournalFilter(NamedTuple):
    """What to show; an empty field shows everything."""

    outcome: str = ""
    code: str = ""
    program: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "JournalFilter":
        """Read the filter from a URL, in which anything can be."""
        outcome = query.get("outcome", "")
        return cls(
            outcome if outcome in (ACCEPTED, REFUSED) else "",
            query.get("code", "")[:CODE_LENGTH],
            query.get("program", "")[:JOURNAL_USER_AGENT_LENGTH],
        )

    def matches(self, entry: JournalEntry) -> bool:
        return (
            self.outcome in ("", ACCEPTED if entry.accepted else REFUSED)
            and self.code in ("", entry.code)
            and self.program in ("", entry.program)
        )


class FilteredJournal(NamedTuple):
    """The rows of a journal that match a filter, and what else can be chosen."""

    filter: JournalFilter
    # All rows, the newest first.
    entries: list[JournalEntry]
    rows: list[JournalEntry]
    codes: list[str]
    programs: list[str]


def read(key: Key, chosen: JournalFilter) -> FilteredJournal:
    entries = list(selectors.journal_of(key))
    # Most rows are of the same few programs.
    known: dict[str, Program | None] = {}
    for entry in entries:
        if entry.user_agent not in known:
            known[entry.user_agent] = entry.recognised
        entry.recognised = known[entry.user_agent]
    return FilteredJournal(
        chosen,
        entries,
        [entry for entry in entries if chosen.matches(entry)],
        _options((entry.code for entry in entries), chosen.code),
        _options((entry.program for entry in entries), chosen.program),
    )


def _options(values: Iterable[str], chosen: str) -> list[str]:
    """Return the most frequent values, and what is chosen in any case."""
    counted = Counter(filter(None, values)).most_common(_OFFERED)
    options = [value for value, _rows in counted]
    return options if chosen in ("", *options) else [*options, chosen]
