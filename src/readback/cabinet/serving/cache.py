"""The cache in the database, which raises an error if it cannot store a value.

Django's cache returns False then, as it does when another process was faster. allauth
counts attempts in the cache and would take that for one attempt too many.
"""

import base64
import pickle
from datetime import UTC, datetime
from typing import Any

from django.core.cache.backends import db
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.db import connection

from readback.cabinet.models import CacheEntry

_TABLE = CacheEntry._meta.db_table
# One statement, so that of two processes that add the same key only one succeeds.
_STORE = f"""
INSERT INTO {_TABLE} (cache_key, value, expires) VALUES (%s, %s, %s)
ON CONFLICT (cache_key) DO UPDATE SET value = excluded.value, expires = excluded.expires
"""
_IF_EXPIRED = f"WHERE {_TABLE}.expires < %s"


class DatabaseCache(db.DatabaseCache):
    def _base_set(
        self, mode: str, key: str, value: Any, timeout: float | None = DEFAULT_TIMEOUT
    ) -> bool:
        """Store a value, for Django's `set` and `add`; nothing uses its `touch`."""
        end = self.get_backend_timeout(timeout)
        expires = datetime.max if end is None else datetime.fromtimestamp(end, UTC)
        pickled = pickle.dumps(value, self.pickle_protocol)
        row = [key, base64.b64encode(pickled).decode("ascii"), _moment(expires)]
        now = datetime.now(UTC).replace(microsecond=0)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {_TABLE}")
            [count] = cursor.fetchone()
            if count > self._max_entries:
                self._cull(connection.alias, cursor, now, count)  # type: ignore[attr-defined]
            if mode == "add":
                cursor.execute(_STORE + _IF_EXPIRED, [*row, _moment(now)])
            else:
                cursor.execute(_STORE, row)
            return bool(cursor.rowcount)


def _moment(moment: datetime) -> Any:
    # The base class reads whole seconds.
    return connection.ops.adapt_datetimefield_value(moment.replace(microsecond=0))
