"""The list of keys, and the form that creates one."""

import re
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from readback.cabinet.keys import services
from readback.cabinet.models import Key
from readback.contract import MAX_ACTIVE_KEYS
from tests.cabinet.owners import BOB, account, logged_in
from tests.cabinet.visitor import text_of, words_of


def test_the_list_shows_name_last_four_and_last_use(alice):
    key = services.key_create(alice, "laptop").key
    Key.objects.update(last_used_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    services.key_create(account(BOB), "of Bob")

    words = words_of(logged_in(alice).get("/keys/"))

    assert f"laptop sk-echo-…{key.last_four}" in words
    assert "2026-01-02 03:04" in words
    assert "Rotate laptop Revoke laptop" in words
    assert "of Bob" not in words


def test_a_key_gets_what_was_chosen(alice):
    form = {"label": " laptop ", "days": "30", "explains_refusals": "on"}
    response = logged_in(alice).send("/keys/", form | {"rehearsal": "429 429 ok"})

    key = Key.objects.get()
    assert key.explains_refusals and key.rehearsal == "429 429 ok"
    assert response.headers["Location"] == f"/keys/{key.pk}/new/"
    assert key.label == "laptop"
    month = timezone.now() + timedelta(days=30)
    assert abs(key.expires_at - month) < timedelta(minutes=5)


def test_an_eleventh_key_is_refused_with_the_reason(alice):
    visitor = logged_in(alice)
    for _ in range(MAX_ACTIVE_KEYS):
        services.key_create(alice)

    page = words_of(visitor.get("/keys/"))
    assert "You have 10 active keys, the maximum for an account." in page
    # A form that was already open gets the same response.
    assert "at most 10 active keys" in words_of(visitor.post("/keys/"))
    assert Key.objects.count() == MAX_ACTIVE_KEYS


def test_a_revoked_key_makes_room_and_is_listed_as_inactive(alice):
    keys = [services.key_create(alice, f"no {n}").key for n in range(MAX_ACTIVE_KEYS)]
    services.key_revoke(keys[0])

    page = logged_in(alice).get("/keys/")

    assert "1 inactive key" in words_of(page)
    inactive = re.search(r'<details class="minor-details">.*', text_of(page), re.DOTALL)
    assert inactive
    assert "no 0" in inactive[0]
    assert "Create key" in words_of(page)


def test_the_list_says_the_state_of_each_key(alice):
    services.key_create(alice, "lasting")
    soon = timezone.now() + timedelta(days=3)
    services.key_create(alice, "short", soon)
    rotated = services.key_create(alice, "old").key
    services.key_rotate(rotated, timedelta(days=7))
    services.key_revoke(services.key_create(alice, "gone").key)
    rotated.refresh_from_db()

    words = words_of(logged_in(alice).get("/keys/"))

    assert re.search(r"lasting sk-echo-…\w{4} [\d-]{10} active", words)
    assert f"expires {soon:%Y-%m-%d %H:%M} UTC (2 days, 23 hours left)" in words
    assert f"rotated; ends {rotated.expires_at:%Y-%m-%d %H:%M} UTC (6" in words
    assert re.search(r"gone sk-echo-…\w{4} revoked [\d-]{10}", words)
    # A key can be rotated only once.
    assert words.count("Rotate old") == 1 and words.count("Revoke old") == 2


def test_a_name_from_right_to_left_is_isolated_everywhere(alice):
    name = "מפתח (ישן) 1"
    key = services.key_create(alice, name).key
    visitor = logged_in(alice)

    for page in ("", "rotate/", "revoke/", "unmatched/"):
        text = text_of(visitor.get(f"/keys/{key.pk}/{page}"))
        assert text.count(f"<bdi>{name}</bdi>") == 1
        assert text.count(name) == 1 + (page == "")
    listed = text_of(visitor.get("/keys/"))
    assert listed.count(f"<bdi>{name}</bdi>") == listed.count(name) == 3
