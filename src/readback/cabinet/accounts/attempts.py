"""The cache in which allauth counts attempts: a table that all processes share.

allauth locks a count by adding an entry, reads the count, and writes it if another
attempt is allowed. This cache only reads a count that has reached its limit, so that a
flood of requests causes no writes. Django reports a database error as an existing
entry, which allauth would take for too many attempts; this cache raises the error.
"""

import re
import time
from typing import Any

from django.core.cache.backends.db import DatabaseCache
from django.utils.timezone import now

from readback.cabinet.models import CacheEntry

# allauth names a lock after its count, whose name contains the rate.
_LOCK = re.compile(r"(allauth:rl:[\w.]+:\w+:(\d+)/([\d.]+)/\w+:.*):lock")


class CountCache(DatabaseCache):
    """Django creates an instance for each thread."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # The locks that allauth believes this thread holds.
        self._only_read: set[str] = set()

    def add(self, key: str, *args: Any, **options: Any) -> bool:
        lock = _LOCK.fullmatch(key)
        if lock and self._is_used_up(lock[1], int(lock[2]), float(lock[3])):
            self._only_read.add(key)
            return True
        added = super().add(key, *args, **options)
        if lock and not added and not self.has_key(key):
            # The lock could not be stored, or another thread has just released it.
            _require_storage()
        return added

    def delete(self, key: str, *args: Any, **options: Any) -> bool:
        if key in self._only_read:
            self._only_read.remove(key)
            return True
        return super().delete(key, *args, **options)

    def _is_used_up(self, count: str, attempts: int, seconds: float) -> bool:
        begin = time.time() - seconds
        history: list[float] = self.get(count, [])
        return sum(at > begin for at in history) >= attempts


def _require_storage() -> None:
    """Raise an error if nothing can be stored."""
    CacheEntry.objects.update_or_create(
        cache_key="storage", defaults={"value": "", "expires": now()}
    )
