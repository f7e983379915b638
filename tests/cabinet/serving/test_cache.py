"""The cache in the database: what Django promises of a cache, and its errors."""

import pytest
from django.core.cache import cache, caches
from django.db import DatabaseError, connection
from django.test import override_settings

from readback.cabinet.models import CacheEntry

pytestmark = pytest.mark.usefixtures("database")


def test_add_stores_only_what_is_absent_or_expired():
    assert cache.add("lock", 1, timeout=60)
    assert not cache.add("lock", 2, timeout=60)
    assert cache.get("lock") == 1

    cache.set("lock", 3, timeout=-60)
    assert cache.get("lock") is None
    cache.set("lock", 3, timeout=-60)
    assert cache.add("lock", 4, timeout=60)
    assert cache.get("lock") == 4


def test_set_replaces_and_delete_removes():
    cache.set("times", [1.5], timeout=60)
    cache.set("times", [2.5, 1.5], timeout=None)
    assert cache.get("times") == [2.5, 1.5]
    assert cache.delete("times")
    assert cache.get("times") is None


def test_a_full_table_loses_its_expired_entries_first():
    options = {"default": {**caches.settings["default"], "OPTIONS": {"MAX_ENTRIES": 3}}}
    with override_settings(CACHES=options):
        for number in range(4):
            caches["default"].set(f"old{number}", 1, timeout=-60)
        caches["default"].set("new", 1, timeout=60)
    assert [entry.cache_key for entry in CacheEntry.objects.all()] == [":1:new"]


@pytest.mark.parametrize("store", [cache.set, cache.add], ids=["set", "add"])
def test_a_value_that_cannot_be_stored_raises_an_error(store):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE cabinet_cache RENAME COLUMN value TO missing")
    with pytest.raises(DatabaseError):
        store("times", [1.5], timeout=60)
