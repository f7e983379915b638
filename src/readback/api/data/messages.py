"""What the event loop and the database thread of a worker say to each other.

Tasks go from `clerk.py` to `database_thread.py`, results the other way. All are values:
once sent, the sender does not touch their contents again.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from readback.api.data.journal import Tally
from readback.api.data.store import KeyRows
from readback.api.data.unmatched import CAPACITY, UnmatchedEvent


class LookUp(NamedTuple):
    """Look up keys that this worker does not know yet."""

    digests: list[bytes]


class Refresh(NamedTuple):
    """Ask again about all keys that this worker knows."""

    digests: list[bytes]
    asked_at: float


class Write(NamedTuple):
    """Write usage and journal."""

    tallies: list[Tally]


class WriteUnmatched(NamedTuple):
    """Write how often each unmatched request has occurred, or drop it."""

    counts: Mapping[UnmatchedEvent, int]
    at: float

    def after(self, earlier: "WriteUnmatched | None") -> "WriteUnmatched":
        """Return this with what was to be written before, as far as there is room."""
        counts = Counter(earlier.counts if earlier else ())
        for event, requests in self.counts.items():
            if event in counts or len(counts) < CAPACITY:
                counts[event] += requests
        return WriteUnmatched(counts, self.at)


class Stop(NamedTuple):
    """Write what is left until the deadline, then end."""

    deadline: float


Task = LookUp | Refresh | Write | WriteUnmatched | Stop


class LookedUp(NamedTuple):
    """What the database says of keys that were unknown."""

    digests: list[bytes]
    rows: KeyRows


class LookUpFailed(NamedTuple):
    """The database could not be asked about these keys."""

    digests: list[bytes]


class Refreshed(NamedTuple):
    """What the database says of some of the known keys."""

    digests: list[bytes]
    rows: KeyRows


class RefreshEnded(NamedTuple):
    """All known keys have been asked about, or the database has failed."""

    # When the refresh began; None if it failed.
    confirmed_at: float | None


class NotWritten(NamedTuple):
    """These could not be written now; they are for the next round."""

    tallies: list[Tally]


class Rejected(NamedTuple):
    """These can never be written."""

    tallies: list[Tally]


class WriteEnded(NamedTuple):
    """The thread has nothing left to write."""


Result = (
    LookedUp
    | LookUpFailed
    | Refreshed
    | RefreshEnded
    | NotWritten
    | Rejected
    | WriteEnded
)
