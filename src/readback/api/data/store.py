"""Every SQL statement of the data plane, for SQLite and PostgreSQL.

The tables belong to the cabinet's migrations; a test runs each statement here on
both databases. Statements are written once, with `?`; how the two differ is said in
`dialects.py`. Each method is a few statements of bounded size, and each statement
works on many rows, so that their number does not follow the number of requests. Only
the clerk's thread comes here.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from readback.api.data.dialects import dialect
from readback.api.data.journal import Tally
from readback.config import Config
from readback.contract import JOURNAL_ROWS

KEYS_AT_ONCE = 500
TALLIES_PER_TRANSACTION = 500
# Older rows of a key's journal go when so many have come since the last time.
THIN_EVERY = 20
ROWS_PER_CLEANING = 1000
# What the columns take: PostgreSQL refuses more, and with it the whole batch.
_DETAIL_LENGTH, _USER_AGENT_LENGTH, _ADDRESS_LENGTH = 400, 80, 45
_DAY = 86_400

# An account's address is confirmed when allauth says so of its primary one.
_KEYS = """
SELECT k.digest, k.id, k.expires_at,
       k.revoked_at IS NULL AND u.is_active AND EXISTS (
           SELECT 1 FROM account_emailaddress e
           WHERE e.user_id = u.id AND e.verified AND e."primary")
FROM cabinet_key k JOIN cabinet_user u ON u.id = k.owner_id
WHERE k.digest {among}
"""
# Rows of usage and journal need their key's row: it is held until the transaction
# ends, so it cannot be deleted meanwhile. Always in the same order, so that two
# workers cannot wait for each other.
_HOLD = "SELECT id FROM cabinet_key WHERE id IN ({marks}) ORDER BY id {hold}"
_EXISTING = "SELECT id FROM cabinet_key WHERE id IN ({marks})"
_USAGE = """
INSERT INTO cabinet_usage (key_id, hour, endpoint, code, requests) VALUES {rows}
ON CONFLICT (key_id, hour, endpoint, code)
DO UPDATE SET requests = cabinet_usage.requests + excluded.requests
"""
_JOURNAL = """
INSERT INTO cabinet_journalentry (key_id, at, endpoint, status, code, detail,
    accepted, request_bytes, answer_bytes, user_agent, client_address, requests)
VALUES {rows}
"""
_LAST_USED = """
UPDATE cabinet_key SET last_used_at = used.column2 FROM (VALUES {rows}) AS used
WHERE id = used.column1 AND (last_used_at IS NULL OR last_used_at < used.column2)
"""
_THIN = """
DELETE FROM cabinet_journalentry WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (
            PARTITION BY key_id, accepted ORDER BY id DESC) AS place
        FROM cabinet_journalentry WHERE key_id IN ({marks})) AS numbered
    WHERE place > ?)
"""
# Ids grow with time, so what is old is found at the beginning of the primary key.
_OLD_USAGE = """
DELETE FROM cabinet_usage WHERE hour < ? AND id IN (
    SELECT id FROM cabinet_usage ORDER BY id LIMIT ?)
"""
_OLD_JOURNAL = """
DELETE FROM cabinet_journalentry WHERE at < ? AND id IN (
    SELECT id FROM cabinet_journalentry ORDER BY id LIMIT ?)
"""


class KeyRow(NamedTuple):
    """What the database says of a key."""

    digest: bytes
    key_id: int
    expires_at: float | None
    accepted: bool


class StoreError(Exception):
    """The database could not be asked or written; the text says why, for operators.

    `passing` is false when the same would fail for ever; `lost` means that the
    connection had ended before it was used.
    """

    def __init__(self, reason: str, *, passing: bool, lost: bool) -> None:
        super().__init__(reason)
        self.passing = passing
        self.lost = lost


class Store:
    """One connection to the database, opened when it is needed."""

    def __init__(self, config: Config) -> None:
        self._dialect = dialect(config)
        self._usage_seconds = config.usage_days * _DAY
        self._journal_seconds = config.journal_days * _DAY
        self._connection: Any = None
        self._statements = 0
        self._passing_over = False
        self._unthinned: defaultdict[int, int] = defaultdict(int)

    def take_statements(self) -> int:
        """Give how many statements have been run since the last time."""
        count, self._statements = self._statements, 0
        return count

    def keys(self, digests: Sequence[bytes]) -> dict[bytes, KeyRow]:
        """Look up KEYS_AT_ONCE keys at the most by their digests.

        Without any, find out whether the database answers.
        """
        if not digests:
            self._read("SELECT 1 LIMIT 0", ())
        size = self._dialect.keys_per_statement
        found: list[KeyRow] = []
        for at in range(0, len(digests), size):
            among, values = self._dialect.among(digests[at : at + size])
            rows = self._read(_KEYS.format(among=among), values)
            found += [self._key_row(*row) for row in rows]
        return {row.digest: row for row in found}

    def _read(self, text: str, values: Sequence[Any]) -> list[Any]:
        try:
            rows = self._run(text, values)
        except StoreError as error:
            if not error.lost:
                raise
            # The server ended an idle connection, or has been restarted.
            rows = self._run(text, values)
        return list(rows.fetchall())

    def record(self, tallies: Sequence[Tally]) -> list[Tally]:
        """Write usage and journal in one transaction; give back what has to wait.

        What belongs to a key that is gone is forgotten with it. When somebody holds a
        key's row for longer than a transaction of ours takes, that key is passed over
        from then on, and all others are written.
        """
        try:
            self._run(self._dialect.begin)
            held, waiting = self._hold({tally.event.key_id for tally in tallies})
            ours = [tally for tally in tallies if tally.event.key_id in held]
            if ours:
                self._write(ours)
            self._run("COMMIT")
        except StoreError:
            self._passing_over = True
            self._roll_back()
            raise
        self._passing_over = bool(waiting)
        return [tally for tally in tallies if tally.event.key_id in waiting]

    def clean(self, wall: float) -> bool:
        """Delete some of what is older than the settings say; True if all is done."""
        moment = self._dialect.moment
        usage = (moment(wall - self._usage_seconds), ROWS_PER_CLEANING)
        journal = (moment(wall - self._journal_seconds), ROWS_PER_CLEANING)
        deleted = self._run(_OLD_USAGE, usage).rowcount
        deleted = max(deleted, self._run(_OLD_JOURNAL, journal).rowcount)
        return bool(deleted < ROWS_PER_CLEANING)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*self._dialect.errors):
                connection.close()

    def _hold(self, key_ids: set[int]) -> tuple[set[int], set[int]]:
        """Hold the rows of keys; say which are ours now and which somebody else's."""
        held = self._ids(_HOLD, key_ids)
        missed = key_ids - held
        return held, self._ids(_EXISTING, missed) if missed else set()

    def _ids(self, text: str, key_ids: set[int]) -> set[int]:
        hold = (
            self._dialect.lock_skip_locked if self._passing_over else self._dialect.hold
        )
        text = text.format(marks=_marks(key_ids), hold=hold)
        rows = self._run(text, tuple(key_ids))
        return {key_id for (key_id,) in rows.fetchall()}

    def _write(self, tallies: list[Tally]) -> None:
        self._run_rows(_USAGE, self._usage_rows(tallies))
        self._run_rows(_JOURNAL, [self._journal_row(each) for each in _last(tallies)])
        last_used = {tally.event.key_id: tally.at for tally in _by_time(tallies)}
        moment = self._dialect.moment
        self._run_rows(_LAST_USED, [(id_, moment(at)) for id_, at in last_used.items()])
        self._thin(_last(tallies))

    def _thin(self, written: list[Tally]) -> None:
        for tally in written:
            self._unthinned[tally.event.key_id] += 1
        due = [id_ for id_, rows in self._unthinned.items() if rows >= THIN_EVERY]
        if due:
            text = _THIN.format(marks=_marks(due))
            self._run(text, (*due, JOURNAL_ROWS))
        # Keys that are used seldom must not gather here for ever.
        for key_id in due if len(self._unthinned) < 10_000 else list(self._unthinned):
            del self._unthinned[key_id]

    def _usage_rows(self, tallies: list[Tally]) -> list[tuple[Any, ...]]:
        # One row for each cell: PostgreSQL does not update a row twice at once.
        cells: defaultdict[tuple[int, float, str, str], int] = defaultdict(int)
        for tally in tallies:
            event, hour = tally.event, tally.at // 3600 * 3600
            cells[event.key_id, hour, event.endpoint, event.code] += tally.requests
        moment = self._dialect.moment
        return [
            (key_id, moment(hour), endpoint, code, requests)
            for (key_id, hour, endpoint, code), requests in cells.items()
        ]

    def _journal_row(self, tally: Tally) -> tuple[Any, ...]:
        event = tally.event
        return (
            event.key_id,
            self._dialect.moment(tally.at),
            event.endpoint,
            event.status,
            event.code,
            event.detail[:_DETAIL_LENGTH],
            event.accepted,
            tally.request_bytes,
            tally.answer_bytes,
            event.user_agent[:_USER_AGENT_LENGTH],
            event.address[:_ADDRESS_LENGTH],
            tally.requests,
        )

    def _run_rows(self, text: str, rows: list[tuple[Any, ...]]) -> None:
        row = f"({_marks(rows[0])})"
        values = [value for each in rows for value in each]
        self._run(text.format(rows=", ".join([row] * len(rows))), values)

    def _run(self, text: str, values: Sequence[Any] = ()) -> Any:
        try:
            if self._connection is None:
                self._connection = self._dialect.connect()
            self._statements += 1
            statement = self._dialect.statement(text)
            return self._connection.execute(statement, tuple(values))
        except self._dialect.errors as error:
            raise self._fault(error) from None

    def _fault(self, error: Exception) -> StoreError:
        dialect, connection = self._dialect, self._connection
        lost = connection is not None and dialect.is_lost(connection)
        if not dialect.survives(error):
            self.close()
        passing = not isinstance(error, dialect.permanent_errors)
        return StoreError(dialect.reason(error), passing=passing, lost=lost)

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except self._dialect.errors:
            self.close()

    def _key_row(
        self, digest: bytes, key_id: int, expires_at: Any, accepted: Any
    ) -> KeyRow:
        expiry = None if expires_at is None else self._dialect.seconds(expires_at)
        return KeyRow(bytes(digest), key_id, expiry, bool(accepted))


def _marks(values: Iterable[Any]) -> str:
    return ", ".join("?" for _ in values)


def _by_time(tallies: Iterable[Tally]) -> list[Tally]:
    return sorted(tallies, key=lambda tally: tally.at)


def _last(tallies: list[Tally]) -> list[Tally]:
    """Leave out what the journal would forget at once: the counts have it all."""
    rows: defaultdict[tuple[int, bool], list[Tally]] = defaultdict(list)
    for tally in _by_time(tallies):
        rows[tally.event.key_id, tally.event.accepted].append(tally)
    return [tally for each in rows.values() for tally in each[-JOURNAL_ROWS:]]
