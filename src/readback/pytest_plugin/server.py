"""The server as a test sees it: its addresses, one key, and what arrived with it.

Readback stores no text, so a test cannot compare one. Keys and the journal are accessed
in the database file itself: a command would need a second to import Django, and an
endpoint for this would have to be protected on every server.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from readback import keys, programs
from readback.config import DATABASE_NAME
from readback.contract import MODEL, MODELS_PATH, REFUSALS
from readback.rehearsal import REHEARSED, checked_pattern

# This server writes all of its journal twice a second.
_JOURNAL_SECONDS = 30
_POLL_SECONDS = 0.01
# The server locks the file for a few milliseconds at a time.
_LOCK_SECONDS = 10.0

_KEY = "SELECT * FROM cabinet_key WHERE digest = ?"
_JOURNAL = """
SELECT j.requests, j.status, j.code, j.endpoint, j.user_agent, j.differences
FROM cabinet_journalentry j JOIN cabinet_key k ON k.id = j.key_id
WHERE k.digest = ? ORDER BY j.id
"""
# Without a limit, unlike the journal.
_USAGE = """
SELECT u.code, SUM(u.requests) AS requests
FROM cabinet_usage u JOIN cabinet_key k ON k.id = u.key_id
WHERE k.digest = ? GROUP BY u.code
"""
ACCEPTED = "accepted"
_OUTCOMES = (ACCEPTED, *REFUSALS, REHEARSED)
_HEADINGS = ("requests", "outcome", "endpoint", "program", "differences")


class ArrivedRequest(NamedTuple):
    """A request with the key of a test, or several equal ones."""

    requests: int
    outcome: str  # "accepted", "rehearsed", or the code of the refusal
    status: int
    endpoint: str  # "chat", "models" or "other"
    program: str  # the name on the page of programs, or what it calls itself
    differences: tuple[str, ...]  # how a refused request differs from the contract


class JournalDatabase:
    """A SQLite file that a running server uses, too."""

    def __init__(self, data_dir: Path) -> None:
        self._url = f"{(data_dir / DATABASE_NAME).as_uri()}?mode=rw"

    def create_key(self, like: str, *, explain: bool = False, pattern: str = "") -> str:
        """Create a key of the same account as another one."""
        text = keys.mint()
        with self._connect() as connection:
            row = dict(connection.execute(_KEY, (_digest(like),)).fetchone())
            del row["id"]
            row |= {
                "digest": _digest(text),
                "last_four": keys.last_characters(text),
                "last_used_at": None,
                "last_created": None,
                "explains_refusals": explain,
                "rehearsal": pattern,
            }
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT INTO cabinet_key ({', '.join(row)}) VALUES ({marks})",
                tuple(row.values()),
            )
        return text

    def arrived(self, key: str) -> list[ArrivedRequest]:
        """Return what the journal of a key has, the oldest first."""
        found = []
        for row in self._rows(_JOURNAL, key):
            agent = row["user_agent"]
            recognised = programs.recognise(agent)
            request = ArrivedRequest(
                requests=row["requests"],
                outcome=row["code"] or ACCEPTED,
                status=row["status"],
                endpoint=row["endpoint"],
                program=recognised.name if recognised else agent,
                differences=tuple(row["differences"].split()),
            )
            found.append(request)
        return found

    def outcomes(self, key: str) -> Counter[str]:
        """Return how many requests of a key had each outcome."""
        rows = self._rows(_USAGE, key)
        return Counter({row["code"] or ACCEPTED: row["requests"] for row in rows})

    def _rows(self, statement: str, key: str) -> list[Any]:
        with self._connect() as connection:
            return connection.execute(statement, (_digest(key),)).fetchall()

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._url, uri=True, timeout=_LOCK_SECONDS)
        with closing(connection), connection:
            connection.row_factory = sqlite3.Row
            # The data need not survive a power cut.
            connection.execute("PRAGMA synchronous = OFF")
            yield connection


def _digest(key: str) -> bytes:
    return keys.digest(key.encode())


class Expectation(NamedTuple):
    """How many requests have each outcome, and what all of them have in common."""

    outcomes: Mapping[str, int]
    program: str | None
    differences: Collection[str] | None

    def check(self) -> None:
        """Raise TypeError or ValueError if an argument could not be compared.

        What arrives is compared only with what is expected of some request, so an
        argument without such a request would be ignored.
        """
        __tracebackhide__ = True
        for name, requests in self.outcomes.items():
            if name not in _OUTCOMES:
                similar = get_close_matches(name, _OUTCOMES, n=1)
                hint = f"; did you mean {similar[0]}?" if similar else "."
                raise TypeError(
                    f"{name} is neither {ACCEPTED}, {REHEARSED} nor the code of a "
                    f"refusal{hint}"
                )
            # True would be compared as 1.
            if not isinstance(requests, int) or isinstance(requests, bool):
                raise TypeError(
                    f"{name} must be a number of requests; got {requests!r}"
                )
            if requests < 0:
                raise ValueError(f"{name} must not be negative; got {requests}")
        if not isinstance(self.program, str | None):
            raise TypeError(f"program must be a string; got {self.program!r}")
        if self.program is not None and not any(self.outcomes.values()):
            raise ValueError(
                "program needs requests to compare: name their outcome, as in "
                "accepted=1."
            )
        refusals = self.outcomes.keys() - {ACCEPTED}
        if self.differences and not any(self.outcomes[code] for code in refusals):
            raise ValueError(
                "differences needs refused requests to compare: name their code, as "
                "in unknown_field=1."
            )

    def violations(
        self, counts: Counter[str], arrived: Sequence[ArrivedRequest]
    ) -> Iterator[str]:
        """Yield what differs, one sentence each."""
        for outcome in dict.fromkeys([*self.outcomes, *counts]):
            expected = self.outcomes.get(outcome, 0)
            if expected != counts[outcome]:
                yield f"{outcome}: expected {expected}, got {counts[outcome]}"
        for request in arrived:
            if self.program not in (None, request.program):
                yield f"program: expected {self.program}, got {request.program}"
            if self.differences is None or request.outcome == ACCEPTED:
                continue
            if set(request.differences) != set(self.differences):
                expected_ids = " ".join(sorted(self.differences)) or "none"
                got = " ".join(sorted(request.differences)) or "none"
                yield f"differences: expected {expected_ids}, got {got}"


def difference_ids(differences: object) -> list[str] | None:
    """Return the ids of a string or of a collection; raise TypeError for others."""
    __tracebackhide__ = True
    if differences is None:
        return None
    if isinstance(differences, str):
        return differences.split()
    if not isinstance(differences, Collection) or not all(
        isinstance(difference, str) for difference in differences
    ):
        raise TypeError(
            f"differences must be a string or a list of strings; got {differences!r}"
        )
    return " ".join(differences).split()


def _report(violations: Collection[str], arrived: Sequence[ArrivedRequest]) -> str:
    """Return the message of a failed expectation, with what arrived as a table."""
    lines = ["Readback received something else:"]
    lines += [f"  {sentence}" for sentence in dict.fromkeys(violations)]
    if not arrived:
        return "\n".join([*lines, "No request with this key has arrived."])
    rows: list[Sequence[str]] = [_HEADINGS]
    for requests, outcome, _, endpoint, program, ids in arrived:
        cells = (str(requests), outcome, endpoint, program or "-", " ".join(ids) or "-")
        rows.append(cells)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines.append("What arrived with this key:")
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  " + "  ".join(padded).rstrip())
    return "\n".join(lines)


@dataclass
class Marker:
    """Our own requests: when one of them is written, so is everything before it."""

    key: str
    sent: int = 0


@dataclass(frozen=True)
class ReadbackServer:
    """A running server, and one of its keys."""

    base_url: str
    api_key: str = field(repr=False)
    cabinet_url: str
    _database: JournalDatabase = field(repr=False)
    _marker: Marker = field(repr=False)
    model: str = MODEL

    def with_new_key(
        self, *, explain: bool = False, rehearse: str | None = None
    ) -> "ReadbackServer":
        """Return the same server with a new key, with which nothing has arrived.

        With `explain`, the body of a refusal has an `error.message`. With `rehearse`,
        it is a rehearsal key with this pattern.
        """
        __tracebackhide__ = True
        pattern = "" if rehearse is None else checked_pattern(rehearse)
        key = self._database.create_key(self.api_key, explain=explain, pattern=pattern)
        return replace(self, api_key=key)

    def expect(
        self,
        *,
        program: str | None = None,
        differences: str | Collection[str] | None = None,
        **outcomes: int,
    ) -> list[ArrivedRequest]:
        """Assert what arrived with this key until now; return it.

        Each outcome is `accepted`, `rehearsed` or the code of a refusal, and the number
        of requests that had it; none arrived with another outcome. Every request is of
        `program`, and every refused one has exactly these `differences`. An argument
        that no expected request could be compared with is a usage error.
        """
        __tracebackhide__ = True
        expectation = Expectation(outcomes, program, difference_ids(differences))
        expectation.check()
        self._wait_for_journal()
        arrived = self._database.arrived(self.api_key)
        counts = self._database.outcomes(self.api_key)
        if violations := list(expectation.violations(counts, arrived)):
            raise AssertionError(_report(violations, arrived))
        return arrived

    def _wait_for_journal(self) -> None:
        """Wait until everything that was answered until now is written."""
        __tracebackhide__ = True
        # Not with urllib, which would use the proxies of the environment.
        address = urlsplit(self.base_url).netloc
        headers = {"Authorization": f"Bearer {self._marker.key}"}
        with closing(HTTPConnection(address, timeout=_JOURNAL_SECONDS)) as connection:
            try:
                connection.request("GET", MODELS_PATH, headers=headers)
                connection.getresponse().read()
            except (OSError, HTTPException) as error:
                raise RuntimeError(f"Readback does not answer: {error}") from None
        self._marker.sent += 1
        deadline = time.monotonic() + _JOURNAL_SECONDS
        while self._database.outcomes(self._marker.key).total() < self._marker.sent:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"Readback has not written its journal for {_JOURNAL_SECONDS} s."
                )
            time.sleep(_POLL_SECONDS)
