"""A key's journal: filters, and a card that says what to change."""

import re
from collections import Counter
from html import unescape

import pytest

from readback.cabinet.keys import selectors, services
from readback.cabinet.models import JournalEntry, Key
from readback.contract import SEVERAL_ADDRESSES
from tests.cabinet.owners import entry, logged_in, refused
from tests.cabinet.visitor import text_of, words_of

CURL, LIBRARY = "curl/8.5.0", "OpenAI/Python 3.49.0"


@pytest.fixture
def key(alice) -> Key:
    key = services.key_create(alice, "laptop").key
    entry(key, user_agent=CURL, requests=3)
    entry(key, user_agent="my program/1.0")
    refused(key, "unknown_field", 400, "About curl.", user_agent=CURL)
    refused(key, "unknown_field", 400, "About the library.", user_agent=LIBRARY)
    refused(key, "invalid_model", 400, "About the model.", user_agent=LIBRARY)
    return key


def journal_in(page) -> str:
    return words_of(page).partition(" Client ")[2]


def test_a_row_of_several_callers_says_so(alice, key):
    entry(key, user_agent="function/1.0", client_address=SEVERAL_ADDRESSES)
    rows = journal_in(logged_in(alice).get(f"/keys/{key.pk}/"))
    assert "function/1.0 several addresses" in rows
    assert "several programs" not in rows

    entry(key, user_agent="", client_address=SEVERAL_ADDRESSES)
    rows = journal_in(logged_in(alice).get(f"/keys/{key.pk}/"))
    assert "several programs or addresses" in rows


def test_a_long_journal_can_be_filtered_by_outcome(alice, key):
    visitor = logged_in(alice)
    path = f"/keys/{key.pk}/"
    assert "?outcome=" not in text_of(visitor.get(path))
    for _ in range(15):
        refused(key, "unknown_field", 400, user_agent=CURL)
    assert "?outcome=accepted" in text_of(visitor.get(path))

    for outcome, shown, hidden in (
        ("accepted", "chat 200", "chat 400"),
        ("refused", "chat 400", "chat 200"),
    ):
        rows = journal_in(visitor.get(f"{path}?outcome={outcome}"))
        assert shown in rows and hidden not in rows


def test_the_last_hundred_accepted_and_other_rows_are_shown(key):
    for _ in range(100):
        entry(key, user_agent="new")
        refused(key, "not_found", 404, user_agent="new")

    shown = selectors.journal_of(key).values_list("user_agent", "status")
    assert Counter(shown) == {("new", 200): 100, ("new", 404): 100}


def test_every_link_keeps_the_filter(alice, key):
    for _ in range(20):
        refused(key, "unknown_field", 400, user_agent=CURL)

    page = text_of(logged_in(alice).get(f"/keys/{key.pk}/?outcome=refused&page=2"))

    assert "About curl." in page  # the oldest row is on the second page
    found = [unescape(link) for link in re.findall(r'(?:href|url)="(/[^"]+)', page)]
    links = {link.removeprefix(f"/keys/{key.pk}/").partition("#")[0] for link in found}
    kept = {"?outcome=refused&page=1", "numbers/?outcome=refused&page=2"}
    assert kept <= links


def test_an_unknown_outcome_shows_all_rows(alice, key):
    for value in ("nothing", "<b>\x00'", "x" * 2000, "\u202e😀"):
        page = logged_in(alice).get(f"/keys/{key.pk}/", data={"outcome": value})

        assert "chat 200" in journal_in(page) and "chat 400" in journal_in(page)
        assert "<b>" not in text_of(page)


def test_a_card_says_what_to_change_once_and_the_rows_link_to_it(alice, key):
    JournalEntry.objects.all().delete()
    refused(key, "unknown_field", 400, user_agent=CURL, differences="stream top_p")
    sent = {"user_agent": CURL, "differences": "stream"}
    for _ in range(2):
        refused(key, "stream_unavailable", 400, "It streams.", **sent)
        entry(key, user_agent=CURL)
    refused(key, "stream_unavailable", 400, "It streams a lot.", **sent)
    refused(key, "not_found", 404, "Only POST is accepted.")

    page = logged_in(alice).get(f"/keys/{key.pk}/")

    assert words_of(page).count("Use GET /v1/models or POST") == 1
    assert words_of(page).count("Turn off streaming.") == 1
    links = re.findall(r'href="#(change-\d)"', text_of(page))
    assert links == ["change-1", *["change-2"] * 3, "change-3"]
    assert re.findall(r'id="(change-\d)"', text_of(page)) == sorted(set(links))
    # A row shows its detail only if the card does not already show it.
    assert journal_in(page).count("It streams.") == 2
    assert "It streams a lot." not in journal_in(page)
