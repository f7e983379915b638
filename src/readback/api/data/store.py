"""The SQL statements of the API, for SQLite and PostgreSQL.

The cabinet's migrations own the tables; a test runs each statement on both databases.
Statements use `?` as a placeholder and handle many rows at once; `dialects.py` contains
the differences between the databases. Only the database thread uses a store.
"""

import shutil
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import random, randrange
from time import time
from typing import Any, NamedTuple

from readback import contract
from readback.api.data.dialects import StoreError, dialect, marks
from readback.api.data.journal import Tally
from readback.api.data.unmatched import UnmatchedRequest
from readback.client_address import network_digest
from readback.config import Config

TALLIES_PER_TRANSACTION = 500
# A key's journal is trimmed after about this many new rows.
TRIM_EVERY = 20
ROWS_PER_CLEANING = 1000
_DAY = 86_400
# How many unmatched requests are kept. With two workers, one address cannot fill the
# table within ten minutes.
UNMATCHED_KEPT = 20_000

# Version 1.0.0 stored another number in the upper bits of `last_created`.
_CREATED_BITS = (1 << 32) - 1
# An account is confirmed if its primary e-mail address is verified (allauth).
# The columns are those of `KeyRow`, in this order.
_KEYS = f"""
SELECT k.digest, {{expires_at}},
       k.revoked_at IS NULL AND u.is_active AND EXISTS (
           SELECT 1 FROM account_emailaddress e
           WHERE e.user_id = u.id AND e.verified AND e."primary"),
       coalesce(k.last_created, 0) & {_CREATED_BITS}, k.explains_refusals, k.rehearsal
FROM cabinet_key k JOIN cabinet_user u ON u.id = k.owner_id
WHERE k.digest {{among}}
"""
# Each worker has a row with the number of its last batch. The statement changes nothing
# if an earlier attempt has written this batch although its COMMIT was not answered.
# Until that attempt has ended, the row is locked.
_BATCH = """
INSERT INTO cabinet_usagewriter (id, batch, at) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, at = excluded.at
WHERE cabinet_usagewriter.batch < excluded.batch
"""
# The rows of keys are locked until usage and journal are written, so that no key is
# deleted in between. Rows that others have locked are skipped, so workers neither wait
# for each other nor deadlock. Ids are looked up each time, because restoring a backup
# may change them.
_LOCK = "SELECT digest, id FROM cabinet_key WHERE digest {among} {lock}"
_EXISTING = "SELECT digest FROM cabinet_key WHERE digest {among}"
_USAGE = """
INSERT INTO cabinet_usage (key_id, hour, endpoint, code, requests) VALUES {rows}
ON CONFLICT (key_id, hour, endpoint, code)
DO UPDATE SET requests = cabinet_usage.requests + excluded.requests
"""
_JOURNAL = """
INSERT INTO cabinet_journalentry (key_id, at, endpoint, status, code, detail,
    differences, accepted, request_bytes, answer_bytes, user_agent, client_address,
    requests)
VALUES {rows}
"""
# Workers write in any order, so the higher `created` is the later one, unless it is
# higher than possible (column4) because a clock was wrong.
_LAST_USED = f"""
UPDATE cabinet_key SET
    last_used_at = CASE WHEN last_used_at > used.column2
        THEN last_used_at ELSE used.column2 END,
    last_created = CASE
        WHEN last_created & {_CREATED_BITS} BETWEEN used.column3 AND used.column4
        THEN last_created & {_CREATED_BITS} ELSE used.column3 END
FROM (VALUES {{rows}}) AS used WHERE id = used.column1
"""
_TRIM = """
DELETE FROM cabinet_journalentry WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (
            PARTITION BY key_id, accepted ORDER BY id DESC) AS place
        FROM cabinet_journalentry WHERE key_id IN ({marks})) AS numbered
    WHERE place > ?)
"""
# Each of these tables has an index that begins with the time, so this only reads what
# it deletes. Ids are not in order if the clock was wrong for a while.
_CLEAN = """
DELETE FROM {table} WHERE id IN (
    SELECT id FROM {table} WHERE {time} {is_beyond} ? ORDER BY {time} LIMIT ?)
"""
_NETWORK_KEY = "SELECT key FROM cabinet_networkkey"
_UNMATCHED = """
INSERT INTO cabinet_unmatchedrequest (network, at, endpoint, code, detail, user_agent,
    requests)
VALUES {rows}
"""
# Rows that another worker is deleting are locked, so they are skipped.
_DELETE_UNMATCHED = """
DELETE FROM cabinet_unmatchedrequest WHERE id IN (
    SELECT id FROM cabinet_unmatchedrequest
    WHERE at < ? OR at > ?
        OR id <= (SELECT max(id) FROM cabinet_unmatchedrequest) - ?
    ORDER BY id {lock})
"""


class KeyRow(NamedTuple):
    """What the database says about a key."""

    digest: bytes
    expires_at: float | None
    accepted: bool
    last_created: int = 0  # in the last answer; see `Limiter`
    explains_refusals: bool = False
    rehearsal: str = ""  # the pattern of a rehearsal key


KeyRows = dict[bytes, KeyRow]  # by digest


class Store:
    """One connection to the database, opened when it is needed."""

    def __init__(self, config: Config) -> None:
        self._dialect = dialect(config)
        self.rows_per_statement = self._dialect.rows_per_statement
        self._path = config.sqlite_path
        self._usage_seconds = config.usage_days * _DAY
        self._journal_seconds = config.journal_days * _DAY
        self._connection: Any = None
        self._statements = 0
        # These identify this worker and its next batch.
        self._writer = randrange(1 << 63)
        self._batch = 1
        # The part of the batch that the last attempt had to leave out.
        self._locked_out: list[Tally] = []

    def free_disk_bytes(self) -> int:
        """Return the free bytes beside the SQLite file, at least 1; or else 0."""
        if self._path is None:
            return 0
        return max(1, shutil.disk_usage(self._path.parent).free)

    def take_statements(self) -> int:
        count = self._statements
        self._statements = 0
        return count

    def keys(self, digests: Sequence[bytes]) -> KeyRows:
        """Return the rows of at most `rows_per_statement` keys, or of none."""
        among, values = self._dialect.among(digests)
        text = _KEYS.format(among=among, expires_at=self._dialect.expires_at)
        rows = map(KeyRow._make, self._fetch(text, values))
        return {row.digest: row for row in rows}

    def record(self, tallies: Sequence[Tally]) -> list[Tally]:
        """Write usage and journal rows in one transaction; return the tallies that have
        to wait.

        Those are the tallies of keys whose rows another transaction has locked. Tallies
        of deleted keys are dropped. After an error, call this again with the same
        tallies: if the commit has succeeded after all, they are not written twice.
        """
        try:
            self._run(self._dialect.begin)
            now = self._dialect.moment(time())
            if self._run(_BATCH, (self._writer, self._batch, now)).rowcount:
                self._locked_out = self._write(tallies)
            self._run("COMMIT")
        except StoreError:
            self._roll_back()
            raise
        self._batch += 1
        return self._locked_out

    def clean(self, wall: float) -> bool:
        """Delete some rows that are too old; return True once none are left.

        Rows that are more than a day ahead of the clock were written while the clock
        was wrong, and are deleted, too.
        """
        is_done = True
        for table, column, seconds in (
            ("cabinet_usage", "hour", self._usage_seconds),
            ("cabinet_journalentry", "at", self._journal_seconds),
            ("cabinet_usagewriter", "at", _DAY),
        ):
            for is_beyond, end in (("<", wall - seconds), (">", wall + _DAY)):
                text = _CLEAN.format(table=table, time=column, is_beyond=is_beyond)
                values = (self._dialect.moment(end), ROWS_PER_CLEANING)
                is_done &= self._run(text, values).rowcount < ROWS_PER_CLEANING
        return is_done

    def write_unmatched(
        self, counts: Mapping[UnmatchedRequest, int], wall: float
    ) -> None:
        found = self._fetch(_NETWORK_KEY, ())
        if not found:
            return  # someone has emptied the tables
        network_key = bytes(found[0][0])
        at = self._dialect.moment(wall)
        rows = []
        for (address, endpoint, code, detail, user_agent), requests in counts.items():
            network = network_digest(address, network_key)
            detail = detail[: contract.MAX_DETAIL_LENGTH]
            rows.append((network, at, endpoint, code, detail, user_agent, requests))
        self._run_rows(_UNMATCHED, rows)

    def delete_unmatched(self, wall: float) -> None:
        """Delete unmatched requests that are too old, and the oldest above the limit.

        Rows from the future were written while a clock was wrong; delete them, too.
        """
        moment = self._dialect.moment
        seconds = contract.UNMATCHED_SECONDS
        values = (moment(wall - seconds), moment(wall + seconds), UNMATCHED_KEPT)
        text = _DELETE_UNMATCHED.format(lock=self._dialect.lock_skip_locked)
        self._run(text, values)

    def close(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is not None:
            with suppress(*self._dialect.errors):
                connection.close()

    def _write(self, tallies: Sequence[Tally]) -> list[Tally]:
        """Write all tallies except those of locked keys, which are returned."""
        ids, locked = self._lock({tally.event.digest for tally in tallies})
        if ours := [tally for tally in tallies if tally.event.digest in ids]:
            self._write_rows(ours, ids)
        return [tally for tally in tallies if tally.event.digest in locked]

    def _lock(self, digests: set[bytes]) -> tuple[dict[bytes, int], set[bytes]]:
        """Lock rows of keys; return their ids, and the keys that others have locked."""
        dialect = self._dialect
        lock = dialect.lock_skip_locked
        among, values = dialect.among(list(digests))
        rows = self._fetch(_LOCK.format(among=among, lock=lock), values)
        ids = {bytes(digest): key_id for digest, key_id in rows}
        if not (missed := digests - ids.keys()):
            return ids, set()
        among, values = dialect.among(list(missed))
        rows = self._fetch(_EXISTING.format(among=among), values)
        return ids, {bytes(digest) for (digest,) in rows}

    def _write_rows(self, tallies: list[Tally], ids: dict[bytes, int]) -> None:
        moment = self._dialect.moment
        # PostgreSQL cannot update a row twice in one statement.
        usage: defaultdict[tuple[int, float, str, str], int] = defaultdict(int)
        used_at: dict[int, float] = {}
        created: defaultdict[int, int] = defaultdict(int)
        journal: defaultdict[tuple[int, bool], list[Tally]] = defaultdict(list)
        for tally in sorted(tallies, key=lambda tally: tally.at):
            event = tally.event
            key_id = ids[event.digest]
            hour = tally.at // 3600 * 3600
            usage[key_id, hour, event.endpoint, event.code] += tally.requests
            used_at[key_id] = tally.at
            created[key_id] = max(created[key_id], tally.last_created)
            journal[key_id, event.accepted].append(tally)
        entries = [
            (key_id, *self._journal_row(tally))
            for (key_id, _), each in journal.items()
            for tally in each[-contract.JOURNAL_ROWS :]
        ]
        self._run_rows(
            _USAGE,
            [
                (key_id, moment(hour), endpoint, code, requests)
                for (key_id, hour, endpoint, code), requests in usage.items()
            ],
        )
        self._run_rows(_JOURNAL, entries)
        latest = int(time()) + contract.CREATED_LEAD_SECONDS
        used = [(i, moment(at), created[i], latest) for i, at in used_at.items()]
        self._run_rows(_LAST_USED, used)
        self._trim([key_id for key_id, *_ in entries])

    def _trim(self, written: list[int]) -> None:
        """Trim some of the journals that have new rows, chosen at random."""
        added = Counter(written)
        due = [id_ for id_, rows in added.items() if random() * TRIM_EVERY < rows]
        if due:
            text = _TRIM.format(marks=marks(due))
            self._run(text, (*due, contract.JOURNAL_ROWS))

    def _journal_row(self, tally: Tally) -> tuple[Any, ...]:
        event = tally.event
        return (
            self._dialect.moment(tally.at),
            event.endpoint,
            event.status,
            event.code,
            event.detail[: contract.MAX_DETAIL_LENGTH],
            event.differences[: contract.JOURNAL_DIFFERENCES_LENGTH],
            event.accepted,
            tally.request_bytes,
            tally.answer_bytes,
            event.user_agent[: contract.JOURNAL_USER_AGENT_LENGTH],
            tally.sender[: contract.JOURNAL_ADDRESS_LENGTH],
            tally.requests,
        )

    def _run_rows(self, text: str, rows: list[tuple[Any, ...]]) -> None:
        row = f"({marks(rows[0])})"
        size = self.rows_per_statement
        for at in range(0, len(rows), size):
            part = rows[at : at + size]
            values = [value for each in part for value in each]
            self._run(text.format(rows=", ".join([row] * len(part))), values)

    def _fetch(self, text: str, values: Sequence[Any]) -> list[Any]:
        cursor = self._run(text, values)
        try:
            return list(cursor.fetchall())
        except self._dialect.errors as error:
            raise self._store_error(error) from None

    def _run(self, text: str, values: Sequence[Any] = ()) -> Any:
        try:
            if self._connection is None:
                self._connection = self._dialect.connect()
            self._statements += 1
            statement = text.replace("?", self._dialect.placeholder)
            return self._connection.execute(statement, tuple(values))
        except self._dialect.errors as error:
            raise self._store_error(error) from None

    def _store_error(self, error: Exception) -> StoreError:
        dialect = self._dialect
        if not dialect.survives(error):
            self.close()
        permanent = isinstance(error, dialect.permanent_errors)
        busy = dialect.is_busy(error)
        return StoreError(dialect.reason(error), permanent=permanent, busy=busy)

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except self._dialect.errors:
            self.close()
