"""The journal of a key: filters, and a card that says what to change."""

import re
from html import unescape

import pytest

from readback.cabinet.keys import services
from readback.cabinet.models import JournalEntry, Key
from readback.contract import SEVERAL_ADDRESSES
from tests.cabinet.owners import entry, logged_in, refused
from tests.cabinet.visitor import text_of, words_of

DATABASES = ["sqlite"]

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


def options_in(page, name: str) -> list[str]:
    menu = re.search(rf'<select name="{name}".*?</select>', text_of(page), re.DOTALL)
    assert menu
    found = re.findall(r"<option[^>]*>\s*(.*?)\s*</option>", menu[0], re.DOTALL)
    return [unescape(option) for option in found]


def test_a_row_of_several_callers_says_so(alice, key):
    entry(key, user_agent="function/1.0", client_address=SEVERAL_ADDRESSES)
    rows = journal_in(logged_in(alice).get(f"/keys/{key.pk}/"))
    assert "function/1.0 several addresses" in rows
    assert "several programs" not in rows

    entry(key, user_agent="", client_address=SEVERAL_ADDRESSES)
    rows = journal_in(logged_in(alice).get(f"/keys/{key.pk}/"))
    assert "several programs or addresses" in rows


def test_the_filters_offer_what_occurs(alice, key):
    visitor = logged_in(alice)
    assert "<select" not in text_of(visitor.get(f"/keys/{key.pk}/"))
    for _ in range(15):  # now it is long enough for filters
        entry(key, user_agent="my program/1.0")

    page = visitor.get(f"/keys/{key.pk}/?program=curl")

    outcomes = ["all", "accepted", "refused", "unknown_field", "invalid_model"]
    assert options_in(page, "outcome") == outcomes
    programs = options_in(page, "program")
    assert programs[:2] == ["all", "my program/1.0"]
    assert set(programs[2:]) == {"curl", "openai (Python)"}
    assert '<option value="curl" selected>' in text_of(page)


@pytest.mark.parametrize(
    ("chosen", "shown", "hidden"),
    [
        ("outcome=accepted", ["chat 200"], ["chat 400"]),
        ("outcome=refused", ["chat 400"], ["chat 200"]),
        ("outcome=unknown_field", ["unknown_field What"], ["invalid_model", "200"]),
        (
            "program=openai+(Python)",
            ["unknown_field What", "invalid_model What"],
            ["curl", "my program"],
        ),
        ("program=my+program/1.0", ["my program/1.0"], ["400"]),
        ("outcome=unknown_field&program=curl", ["unknown_field What"], [LIBRARY]),
    ],
)
def test_the_journal_can_be_filtered(alice, key, chosen, shown, hidden):
    rows = journal_in(logged_in(alice).get(f"/keys/{key.pk}/?{chosen}"))

    assert all(words in rows for words in shown)
    assert not any(words in rows for words in hidden)


def test_every_link_keeps_the_filters(alice, key):
    for _ in range(20):
        refused(key, "unknown_field", 400, user_agent=CURL)
    chosen = "outcome=unknown_field&program=curl"

    page = text_of(logged_in(alice).get(f"/keys/{key.pk}/?{chosen}&page=2"))

    assert "About curl." in page  # the oldest row is on the second page
    found = [unescape(link) for link in re.findall(r'(?:href|url)="(/[^"]+)', page)]
    links = {link.removeprefix(f"/keys/{key.pk}/").partition("#")[0] for link in found}
    assert {f"?{chosen}&page=1", f"numbers/?{chosen}&page=2"} <= links
    assert "<option selected>unknown_field" in page


@pytest.mark.parametrize("name", ["outcome", "program"])
def test_a_value_that_does_not_occur_shows_an_empty_list(alice, key, name):
    visitor = logged_in(alice)
    for value in ("nothing", "<b>\x00'", "x" * 2000, "\u202e😀"):
        page = visitor.get(f"/keys/{key.pk}/", data={name: value})

        assert page.status_code == 200
        assert "No request in the journal matches these filters." in words_of(page)
        assert "<b>" not in text_of(page)


def test_only_the_most_frequent_programs_are_offered(alice, key):
    for number in range(30):
        entry(key, user_agent=f"{number} {'x' * 70}")

    options = options_in(logged_in(alice).get(f"/keys/{key.pk}/"), "program")

    assert "curl" in options
    assert len(options) == 21


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
    # A row has its own detail only if it is not on the card.
    assert journal_in(page).count("It streams.") == 2
    assert "It streams a lot." not in journal_in(page)
