"""The server for this process's tests, its keys, and the requests that have arrived.

Readback stores no message texts, so a test cannot check them. Keys and the journal are
accessed directly in the database file: a command would take a second to import Django,
and an endpoint for this would have to be protected on every server.
"""

import ctypes
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import pytest

from readback import keys, programs
from readback.config import DATABASE_NAME
from readback.contract import MODEL, REFUSALS
from readback.http_client import ERRORS, send
from readback.rehearsal import REHEARSED, checked_pattern

_PR_SET_PDEATHSIG = 1
# -P keeps the project's folder off sys.path.
_SERVE = [sys.executable, "-P", "-m", "readback", "serve", "--ephemeral", "--json"]
# A single worker writes requests in the order in which they arrived; with an interval
# of 0, it does so every half second.
_OURS = {"READBACK_WORKERS": "1", "READBACK_JOURNAL_INTERVAL": "0"}
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
# Unlike the journal, this counts every request.
_USAGE = """
SELECT u.code, SUM(u.requests) AS requests
FROM cabinet_usage u JOIN cabinet_key k ON k.id = u.key_id
WHERE k.digest = ? GROUP BY u.code
"""
ACCEPTED = "accepted"
_OUTCOMES = (ACCEPTED, *REFUSALS, REHEARSED)


@contextmanager
def running(settings: Mapping[str, str]) -> Iterator["ReadbackServer"]:
    """Run a server until this block or this process ends."""
    # The environment may have the settings of another server or of a Django project.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("READBACK_") and name != "DJANGO_SETTINGS_MODULE"
    }
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            _SERVE,
            env={**inherited, **settings, **_OURS},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            # So that Ctrl-C reaches only pytest.
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 – it takes no lock
        ) as process,
    ):
        try:
            assert process.stdout
            ready = process.stdout.readline()
            if not ready:
                errors.seek(0)
                reason = errors.read().strip().removeprefix("Error: ")
                pytest.fail(f"Readback did not start: {reason}", pytrace=False)
            facts = json.loads(ready)
            file = Path(facts["data_dir"], DATABASE_NAME)
            urls = (facts["base_url"], facts["api_key"], facts["cabinet_url"])
            yield ReadbackServer(*urls, file)
        finally:
            process.terminate()


def _end_with_parent() -> None:
    """Have the kernel stop the server when this process exits, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class ArrivedRequest(NamedTuple):
    """A request with a test's key, or several identical ones."""

    requests: int
    outcome: str  # "accepted", "rehearsed", or the code of the refusal
    status: int
    endpoint: str  # "chat", "models" or "other"
    program: str  # its name, or its User-Agent if that is unknown
    differences: tuple[str, ...]  # how a refused request differs from the contract


@dataclass(frozen=True)
class ReadbackServer:
    """A running server, and one of its keys."""

    base_url: str
    api_key: str = field(repr=False)
    cabinet_url: str
    _database: Path = field(repr=False)
    model: str = MODEL

    def with_new_key(
        self, *, explain: bool = False, rehearse: str | None = None
    ) -> "ReadbackServer":
        """Return the same server with a new, unused key.

        With `explain`, the body of a refusal has an `error.message`. With `rehearse`,
        it is a rehearsal key with this pattern.
        """
        __tracebackhide__ = True
        text = keys.mint()
        changes = {
            "digest": _digest(text),
            "last_four": keys.last_characters(text),
            "last_used_at": None,
            "last_created": None,
            "explains_refusals": explain,
            "rehearsal": "" if rehearse is None else checked_pattern(rehearse),
        }
        with self._connect() as connection:
            row = dict(connection.execute(_KEY, (_digest(self.api_key),)).fetchone())
            del row["id"]
            row |= changes
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT INTO cabinet_key ({', '.join(row)}) VALUES ({marks})",
                tuple(row.values()),
            )
        return replace(self, api_key=text)

    def expect(
        self,
        *,
        program: str | None = None,
        differences: str | Collection[str] | None = None,
        **outcomes: int,
    ) -> list[ArrivedRequest]:
        """Check which requests have arrived with this key so far; return them.

        Each outcome is `accepted`, `rehearsed` or the code of a refusal, with its
        number of requests; no request may have another outcome. Every request must be
        from `program`; all but the accepted ones must have exactly these `differences`.
        """
        __tracebackhide__ = True
        for name in outcomes:
            if name not in _OUTCOMES:
                raise TypeError(
                    f"{name} is neither {ACCEPTED}, {REHEARSED} nor the code of a "
                    "refusal."
                )
        ids = differences.split() if isinstance(differences, str) else differences
        self._wait_for_journal()
        arrived = list(map(_arrived_request, self._rows(_JOURNAL)))
        counts = self._outcomes()
        if violations := list(_violations(outcomes, counts, arrived, program, ids)):
            raise AssertionError(_report(violations, arrived))
        return arrived

    def _wait_for_journal(self) -> None:
        """Wait until every request answered so far is in the journal.

        Requests are written in order, so send one more and wait until it is counted.
        """
        __tracebackhide__ = True
        later = self.with_new_key()
        headers = {"Authorization": f"Bearer {later.api_key}"}
        try:
            url = f"{self.base_url}/models"
            send("GET", url, _JOURNAL_SECONDS, headers=headers)
        except ERRORS as error:
            raise RuntimeError(f"Readback does not answer: {error}") from None
        deadline = time.monotonic() + _JOURNAL_SECONDS
        while not later._outcomes():
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"Readback has not written its journal for {_JOURNAL_SECONDS} s."
                )
            time.sleep(_POLL_SECONDS)

    def _outcomes(self) -> Counter[str]:
        """Return how many of the key's requests had each outcome."""
        rows = self._rows(_USAGE)
        return Counter({row["code"] or ACCEPTED: row["requests"] for row in rows})

    def _rows(self, statement: str) -> list[Any]:
        with self._connect() as connection:
            return connection.execute(statement, (_digest(self.api_key),)).fetchall()

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        url = f"{self._database.as_uri()}?mode=rw"
        connection = sqlite3.connect(url, uri=True, timeout=_LOCK_SECONDS)
        with closing(connection), connection:
            connection.row_factory = sqlite3.Row
            # The data need not survive a power cut.
            connection.execute("PRAGMA synchronous = OFF")
            yield connection


def _digest(key: str) -> bytes:
    return keys.digest(key.encode())


def _arrived_request(row: sqlite3.Row) -> ArrivedRequest:
    recognised = programs.recognise(row["user_agent"])
    return ArrivedRequest(
        requests=row["requests"],
        outcome=row["code"] or ACCEPTED,
        status=row["status"],
        endpoint=row["endpoint"],
        program=recognised.name if recognised else row["user_agent"],
        differences=tuple(row["differences"].split()),
    )


def _violations(
    expected: Mapping[str, int],
    counts: Counter[str],
    arrived: Sequence[ArrivedRequest],
    program: str | None,
    differences: Collection[str] | None,
) -> Iterator[str]:
    """Yield a sentence for each difference from what was expected."""
    for outcome in dict.fromkeys([*expected, *counts]):
        requests = expected.get(outcome, 0)
        if requests != counts[outcome]:
            yield f"{outcome}: expected {requests}, got {counts[outcome]}"
    for request in arrived:
        if program not in (None, request.program):
            yield f"program: expected {program}, got {request.program}"
        if differences is None or request.outcome == ACCEPTED:
            continue
        if set(request.differences) != set(differences):
            got = sorted(request.differences)
            yield f"differences: expected {sorted(differences)}, got {got}"


def _report(violations: Collection[str], arrived: Sequence[ArrivedRequest]) -> str:
    return "\n  ".join(
        [
            "Readback received something else:",
            *dict.fromkeys(violations),
            "What arrived with this key:" if arrived else "Nothing has arrived.",
            *map(str, arrived),
        ]
    )
