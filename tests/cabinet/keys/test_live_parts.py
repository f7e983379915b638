"""Polls return content only if there is something new, and only to the owner."""

from collections.abc import Callable

import pytest

from readback.cabinet.keys import services
from readback.cabinet.models import Key
from tests.cabinet.keys.test_unmatched import ELSEWHERE, sent
from tests.cabinet.owners import entry, logged_in, refused
from tests.cabinet.visitor import Visitor

PARTS = ("numbers", "arrived")


def poll(visitor: Visitor, key: Key, part: str, seen: str = "") -> tuple[int, str]:
    """Return the status of a poll and the version to send with the next one."""
    response = visitor.get(f"/keys/{key.pk}/{part}/?seen={seen}")
    return response.status_code, response.headers.get("X-Version", seen)


@pytest.mark.parametrize("part", PARTS)
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


def test_a_poll_that_finds_nothing_writes_and_keeps_nothing(key):
    visitor = logged_in(key.owner)
    for part in PARTS:
        _, seen = poll(visitor, key, part)
        response = visitor.get(f"/keys/{key.pk}/{part}/?seen={seen}")
        assert (response.status_code, response.content) == (204, b"")
        assert "no-store" in response.headers["Cache-Control"]
        assert not response.cookies


def test_only_unmatched_requests_of_the_own_network_are_new(key):
    visitor = logged_in(key.owner)
    seen = {part: poll(visitor, key, part)[1] for part in PARTS}
    sent(ELSEWHERE)
    assert all(poll(visitor, key, part, seen[part])[0] == 204 for part in PARTS)

    sent()
    found = [poll(visitor, key, part, seen[part])[0] for part in PARTS]
    assert found == [204, 200]
