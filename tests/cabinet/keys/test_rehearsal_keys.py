"""A rehearsal key in the cabinet: what its owner and operators see."""

import pytest

from readback.cabinet.keys.forms import REHEARSALS
from readback.cabinet.models import JournalEntry, Key
from readback.rehearsal import checked_pattern
from tests.cabinet.owners import logged_in
from tests.cabinet.visitor import words_of
from tests.cabinet.which_database import BOTH

DATABASES = BOTH


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in REHEARSALS if pattern])
def test_every_pattern_that_can_be_chosen_is_valid(pattern):
    assert checked_pattern(pattern) == pattern


def test_a_pattern_that_cannot_be_chosen_is_refused(alice):
    page = logged_in(alice).send("/keys/", {"rehearsal": "418"})
    assert "Select a valid choice." in words_of(page)
    assert not Key.objects.exists()


def test_all_pages_show_the_pattern(alice, operator):
    visitor = logged_in(alice)
    made = visitor.send("/keys/", {"rehearsal": "429 429 ok"})
    key = Key.objects.get()
    assert "This is a rehearsal key" in words_of(visitor.get(made.headers["Location"]))
    for page in ("/keys/", f"/keys/{key.pk}/"):
        assert "rehearsal key 429 429 ok" in words_of(visitor.get(page))
    page = f"/admin/cabinet/key/{key.pk}/change/"
    assert "429 429 ok" in words_of(operator.get(page, follow=True))


def test_a_rehearsed_failure_is_neither_accepted_nor_refused(key):
    JournalEntry.objects.create(
        key=key,
        accepted=False,
        endpoint="chat",
        status=500,
        code="rehearsed",
        detail="Rehearsed: step 1 of 2 of this key's pattern.",
        at=key.created_at,
    )
    visitor = logged_in(key.owner)
    shown = words_of(visitor.get(f"/keys/{key.pk}/arrived/"))
    assert shown.startswith("Connected, with a rehearsed failure rehearsed 500")
    assert "Rehearsed: step 1 of 2" in shown and "What to change" not in shown
    page = f"/keys/{key.pk}/numbers/"
    for outcome, is_shown in (("rehearsed", True), ("refused", False)):
        words = words_of(visitor.get(f"{page}?outcome={outcome}"))
        assert ("chat 500 rehearsed" in words) is is_shown
