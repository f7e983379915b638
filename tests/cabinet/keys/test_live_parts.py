"""Polls that find nothing new: answered from a few rows, without the session."""

import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from readback.cabinet.keys import live_parts, services
from readback.cabinet.models import Key
from tests.cabinet.keys.test_unmatched import ELSEWHERE, sent
from tests.cabinet.owners import BOB, account, entry, logged_in, refused, used
from tests.cabinet.visitor import Visitor
from tests.cabinet.which_database import ON_SQLITE

pytestmark = pytest.mark.usefixtures("database")

PARTS = ("numbers", "arrived", "unmatched/recent")


@pytest.fixture
def key(database) -> Key:
    return services.key_create(account(), "laptop").key


def poll(visitor: Visitor, key: Key, part: str, seen: str = "") -> tuple[int, str]:
    """Return the status of a poll and the version to ask with from then on."""
    response = visitor.get(f"/keys/{key.pk}/{part}/?seen={seen}")
    return response.status_code, response.headers.get("X-Version", seen)


@pytest.mark.parametrize(
    ("part", "statements"), [("numbers", 1), ("arrived", 2), ("unmatched/recent", 2)]
)
def test_nothing_new_takes_few_statements_and_writes_nothing(key, part, statements):
    visitor = logged_in(key.owner)
    _, seen = poll(visitor, key, part)
    with CaptureQueriesContext(connection) as queries:
        response = visitor.get(f"/keys/{key.pk}/{part}/?seen={seen}")

    assert (response.status_code, response.content) == (204, b"")
    assert "no-store" in response.headers["Cache-Control"]
    assert "default-src" in response.headers["Content-Security-Policy"]
    assert not response.cookies
    assert len(queries) == statements
    tables = str([query["sql"] for query in queries])
    assert "session" not in tables and "cabinet_user" not in tables


@pytest.mark.parametrize("part", PARTS[:2])
@pytest.mark.parametrize(
    "change",
    [
        lambda key: entry(key),
        lambda key: refused(key, "invalid_model", 400),
        lambda key: services.journal_clear(key),
    ],
    ids=["accepted", "refused", "cleared"],
)
def test_every_change_of_the_journal_is_found(
    key, part: str, change: Callable[[Key], None]
):
    entry(key)
    visitor = logged_in(key.owner)
    _, seen = poll(visitor, key, part)
    assert poll(visitor, key, part, seen) == (204, seen)

    change(key)
    status, newer = poll(visitor, key, part, seen)
    assert status == 200
    assert poll(visitor, key, part, newer) == (204, newer)


@ON_SQLITE
@pytest.mark.parametrize("hours_ago", [0, 1])
def test_a_count_is_found_even_if_it_is_written_after_its_hour(key, hours_ago):
    visitor = logged_in(key.owner)
    _, seen = poll(visitor, key, "numbers")
    used(key, 1, hours_ago=hours_ago)

    assert poll(visitor, key, "numbers", seen)[0] == 200


@ON_SQLITE
def test_only_unmatched_requests_of_the_own_network_are_new(key):
    visitor = logged_in(key.owner)
    seen = {part: poll(visitor, key, part)[1] for part in PARTS}
    sent(ELSEWHERE)
    assert all(poll(visitor, key, part, seen[part])[0] == 204 for part in PARTS)

    sent()
    found = [poll(visitor, key, part, seen[part])[0] for part in PARTS]
    assert found == [204, 200, 200]


@ON_SQLITE
def test_a_page_that_was_loaded_gets_its_proof_with_the_first_poll(key):
    visitor = logged_in(key.owner)
    version = poll(visitor, key, "arrived")[1][: live_parts.VERSION_LENGTH]

    status, seen = poll(visitor, key, "arrived", version)
    assert (status, seen[: len(version)]) == (204, version)
    assert len(seen) > len(version)
    assert poll(Visitor(), key, "arrived", seen)[0] == 204


@ON_SQLITE
def test_a_page_that_was_logged_out_stops_when_its_proof_ends(key, monkeypatch):
    visitor = logged_in(key.owner)
    _, seen = poll(visitor, key, "arrived")
    visitor.client.logout()
    assert poll(visitor, key, "arrived", seen)[0] == 204

    later = time.time() + live_parts.PROOF_SECONDS
    monkeypatch.setattr(live_parts.time, "time", lambda: later)
    assert poll(visitor, key, "arrived", seen)[0] == 302


@ON_SQLITE
def test_a_proof_is_for_one_part_of_one_key(key):
    other = services.key_create(account(BOB)).key
    _, seen = poll(logged_in(key.owner), key, "arrived")

    mallory = Visitor()
    assert poll(mallory, key, "unmatched/recent", seen)[0] == 302
    assert poll(mallory, other, "arrived", seen)[0] == 302
    assert mallory.get(f"/keys/?seen={seen}").status_code == 302
    assert mallory.client.post(f"/keys/{key.pk}/arrived/?seen={seen}").status_code > 300


def test_anything_else_in_the_url_takes_the_long_way(key):
    _, seen = poll(logged_in(key.owner), key, "arrived")
    version, at = "0" * live_parts.VERSION_LENGTH, f"{int(time.time()):08x}"
    guesses = ["0", version, version + at, version + at + "é" * 32, version + "x" * 40]
    guesses += [f"{seen[:-1]}x", f"{seen}0", version + "ffffffff" + seen[24:]]
    for guess in guesses:
        assert poll(Visitor(), key, "arrived", guess)[0] == 302, guess
    # A number that no database takes.
    large = Key(pk=10**30)
    assert poll(Visitor(), large, "arrived", version + at + "0" * 32)[0] == 302
    assert poll(logged_in(key.owner), large, "arrived", version + at)[0] == 404
