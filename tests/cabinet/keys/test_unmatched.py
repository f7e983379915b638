"""Owners see requests from their own network that had no accepted key."""

import time
from dataclasses import replace

from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from readback.api.data.store import Store
from readback.cabinet.keys.send_test import PROGRAM
from readback.cabinet.models import Key
from readback.config import Config
from readback.contract import UNMATCHED_ROWS
from tests.cabinet.owners import entry, logged_in
from tests.cabinet.visitor import Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH

HERE = "203.0.113.7"  # the address of a visitor
ELSEWHERE = "203.0.113.8"
MISSING = "The Authorization header is missing."


def sent(
    address: str = HERE,
    *,
    code: str = "invalid_key",
    detail: str = MISSING,
    user_agent: str = "curl/8.5.0",
    seconds_ago: float = 0,
    requests: int = 1,
) -> None:
    """Write a request as the API does."""
    counts = {(address, "chat", code, detail, user_agent): requests}
    store = Store(Config(database_url=settings.CONFIG.database_url))
    store.write_unmatched(counts, time.time() - seconds_ago)
    store.close()


def waiting(visitor: Visitor, key: Key, **extra: object) -> str:
    return words_of(visitor.get(f"/keys/{key.pk}/arrived/", **extra))


@ON_BOTH
def test_the_waiting_page_shows_what_the_same_address_has_sent(alice, key):
    visitor = logged_in(alice)
    assert "without an accepted key" not in waiting(visitor, key)

    sent(requests=3)
    sent(ELSEWHERE, detail="Of somebody else.")

    words = waiting(visitor, key)
    assert "From your network address, without an accepted key" in words
    assert "chat 401 invalid_key ×3" in words
    assert f"UTC curl {MISSING}" in words
    assert "They may be yours" in words
    assert "Of somebody else." not in words


@ON_BOTH
def test_rows_are_shown_for_ten_minutes_even_if_they_are_not_deleted(alice, key):
    sent(seconds_ago=601, detail="Too old.")
    sent(seconds_ago=590, detail="Still shown.")

    words = waiting(logged_in(alice), key)
    assert "Too old." not in words and "Still shown." in words


@ON_BOTH
def test_equal_requests_are_shown_once_with_their_number(alice, key):
    sent(requests=2, seconds_ago=30)
    sent(user_agent="my-program/1.0")
    sent(requests=3)
    words = waiting(logged_in(alice), key)
    assert words.count("chat 401 invalid_key") == 2
    assert words.index("invalid_key ×5") < words.index("my-program/1.0")


@ON_BOTH
def test_the_last_kinds_of_requests_are_shown(alice, key):
    for number in range(UNMATCHED_ROWS + 2):
        sent(detail=f"Number {number}.")
    words = waiting(logged_in(alice), key)
    assert "Number 2." in words and "Number 1." not in words


def test_the_page_of_a_key_leads_to_the_same_lines(alice, key):
    sent()
    visitor = logged_in(alice)
    path = f"/keys/{key.pk}/unmatched/"

    assert f'href="{path}"' in text_of(visitor.get(f"/keys/{key.pk}/"))
    assert MISSING not in words_of(visitor.get(f"/keys/{key.pk}/"))
    page = words_of(visitor.get(path))
    assert MISSING in page
    assert "Everybody behind this address sees the same lines" in page


def test_turned_off_nothing_is_shown_and_no_table_is_read(alice, key):
    sent()
    visitor = logged_in(alice)
    off = replace(settings.CONFIG, unmatched_requests=False)
    with (
        override_settings(CONFIG=off),
        CaptureQueriesContext(connection) as queries,
    ):
        words = waiting(visitor, key)
        page = text_of(visitor.get(f"/keys/{key.pk}/"))
        missing = visitor.get(f"/keys/{key.pk}/unmatched/")

    assert "Waiting for your first request…" in words
    assert "network address" not in words
    assert "unmatched" not in page
    assert missing.status_code == 404
    tables = str([query["sql"] for query in queries])
    assert "unmatched" not in tables and "networkkey" not in tables


def test_a_code_of_a_newer_version_is_left_out(alice, key):
    sent(code="of_the_future")
    assert "of_the_future" not in waiting(logged_in(alice), key)


def test_they_are_not_shown_once_anything_has_arrived_with_the_key(alice, key):
    sent()
    entry(key, user_agent=f"{PROGRAM}/1.0")
    words = waiting(logged_in(alice), key)
    assert "This was the test from the cabinet." in words and MISSING not in words
