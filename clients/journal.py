"""What the server itself recorded about the requests of a key, read by plain SQL."""

import time
from hashlib import sha256

from tests.support.database import Database

# The API writes its journal twice a second; a busy machine may take much longer.
WRITTEN_SECONDS = 60
_POLL_SECONDS = 0.1


def differences(database: Database, key: str, requests: int) -> list[str]:
    """Return the differences of the refused requests of a key, when all are written."""
    deadline = time.monotonic() + WRITTEN_SECONDS
    while True:
        rows = database.rows(
            "SELECT requests, differences FROM cabinet_journalentry WHERE key_id ="
            " (SELECT id FROM cabinet_key WHERE digest = ?) AND status <> 200"
            " ORDER BY id",
            sha256(key.encode()).digest(),
        )
        if sum(row[0] for row in rows) >= requests:
            return list(dict.fromkeys(one for row in rows for one in row[1].split()))
        if time.monotonic() > deadline:
            raise TimeoutError(f"{requests} refused requests are not in the journal")
        time.sleep(_POLL_SECONDS)
