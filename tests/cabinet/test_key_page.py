"""The page of a key: charts, journal, revoking, clearing; only for its owner."""

import re
from html import unescape

import pytest

from readback.cabinet import services
from readback.cabinet.models import JournalEntry, Key, Usage
from tests.cabinet.owners import BOB, account, entry, logged_in, refused, used
from tests.cabinet.visitor import Visitor, text_of, words_of

pytestmark = pytest.mark.usefixtures("mails")


@pytest.fixture
def alice(mails):
    return account()


@pytest.fixture
def key(alice) -> Key:
    return services.key_create(alice, "laptop").key


def test_a_key_without_requests_says_so(alice, key):
    words = words_of(logged_in(alice).get(f"/keys/{key.pk}/"))

    assert "No requests with this key yet." in words


def test_the_charts_count_accepted_and_refused(alice, key):
    used(key, 5)
    used(key, 7, hours_ago=3)
    used(key, 2, hours_ago=3, code="unknown_field")
    used(key, 100, hours_ago=26)

    page = logged_in(alice).get(f"/keys/{key.pk}/")

    words = words_of(page)
    assert "Last 24 hours 12 accepted 2 refused" in words
    assert "Last 30 days 112 accepted 2 refused" in words
    assert re.search(r"<title>\d\d:00: 7 accepted, 2 refused</title>", text_of(page))


def test_the_charts_are_readable_without_colour(alice, key):
    used(key, 5, code="invalid_model")

    page = text_of(logged_in(alice).get(f"/keys/{key.pk}/"))

    assert 'fill="url(#hatch-1)"' in page
    assert 'role="img" aria-label="Last 24 hours: 0 accepted, 5 refused"' in page


def test_the_journal_says_what_happened_and_how_to_fix_it(alice, key):
    refused(
        key,
        "not_found",
        404,
        "POST /chat/completions is not part of the API; is /v1 missing?",
        endpoint="other",
        user_agent="OpenAI/Python 3.49.0",
        client_address="192.0.2.0/24",
        request_bytes=140,
        answer_bytes=300,
    )

    page = logged_in(alice).get(f"/keys/{key.pk}/")

    words = words_of(page)
    assert "refused other 404 not_found POST /chat/completions is not part" in words
    assert "is /v1 missing? Use GET /v1/models or POST" in words
    assert "OpenAI/Python 3.49.0 192.0.2.0/24 140 / 300" in words
    assert 'href="/docs/errors#not_found"' in text_of(page)


def test_a_russian_page_shows_the_russian_text_and_the_original_detail(alice, key):
    refused(key, "unknown_field", 400, "The field temperature is not accepted.")

    page = logged_in(alice, "ru").get(f"/keys/{key.pk}/")

    words = words_of(page)
    assert "отклонено chat 400 unknown_field В теле запроса есть поле, не" in words
    assert "Отправляйте только model, messages, stream" in words
    detail = '<p class="wire-text" lang="en">The field temperature is not accepted.</p>'
    assert detail in text_of(page)


def test_a_code_of_an_older_release_is_shown_with_its_detail(alice, key):
    refused(key, "forgotten_code", 400, "An old detail.")

    words = words_of(logged_in(alice).get(f"/keys/{key.pk}/"))

    assert "forgotten_code An old detail." in words


def test_equal_requests_in_one_row_are_counted(alice, key):
    entry(key, requests=41)
    entry(key)

    words = words_of(logged_in(alice).get(f"/keys/{key.pk}/"))

    assert "accepted ×41" in words
    assert "×1 " not in words


def test_markup_from_a_client_is_shown_as_text(alice, key):
    entry(key, user_agent="<script>alert(1)</script>")

    page = text_of(logged_in(alice).get(f"/keys/{key.pk}/"))

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


@pytest.mark.parametrize(
    ("outcome", "shown", "hidden"),
    [("accepted", "chat 200", "chat 400"), ("refused", "chat 400", "chat 200")],
)
def test_the_journal_can_be_filtered_by_outcome(alice, key, outcome, shown, hidden):
    entry(key)
    refused(key, "invalid_model", 400)

    words = words_of(logged_in(alice).get(f"/keys/{key.pk}/?outcome={outcome}"))

    assert shown in words
    assert hidden not in words


def test_the_newest_row_is_first(alice, key):
    entry(key, seconds_ago=60, user_agent="older")
    entry(key, seconds_ago=1, user_agent="newer")

    words = words_of(logged_in(alice).get(f"/keys/{key.pk}/"))

    assert words.index("newer") < words.index("older")


def test_a_long_journal_is_split_into_small_pages(alice, key):
    for number in range(60):
        refused(key, "unknown_field", 400, "x" * 400, user_agent=f"client {number:02}")
    visitor = logged_in(alice)

    first = visitor.get(f"/keys/{key.pk}/?outcome=refused")
    assert "client 59" in words_of(first)
    assert "client 39" not in words_of(first)
    assert len(first.content) < 41_000
    older = re.search(r'<a href="([^"]+)">Older</a>', text_of(first))
    assert older
    second = visitor.get(unescape(older[1]))
    assert "client 39" in words_of(second)
    assert ">Newer</a>" in text_of(second)


def test_the_live_part_answers_only_if_changed_and_keeps_the_filter(alice, key):
    visitor = logged_in(alice)
    page = text_of(visitor.get(f"/keys/{key.pk}/?outcome=refused"))
    live = re.search(r'data-live-url="([^"]+)" data-version="(\w+)"', page)
    assert live
    path, seen = unescape(live[1]), live[2]

    assert visitor.get(f"{path}&seen={seen}").status_code == 204
    refused(key, "invalid_model", 400)
    changed = visitor.get(f"{path}&seen={seen}")
    assert "invalid_model" in words_of(changed)
    assert changed.headers["X-Version"] != seen


def test_revoking_asks_first_and_is_permanent(alice, key):
    visitor = logged_in(alice)
    asked = visitor.get(f"/keys/{key.pk}/revoke/")
    assert "You cannot undo this." in words_of(asked)
    assert Key.objects.get().revoked_at is None

    response = visitor.send(f"/keys/{key.pk}/revoke/")

    assert response.headers["Location"] == "/keys/"
    assert Key.objects.get().revoked_at is not None
    words = words_of(visitor.get("/keys/"))
    assert f"sk-echo-…{key.last_four} is revoked" in words


def test_clearing_empties_the_journal_and_keeps_the_counts(alice, key):
    entry(key)
    used(key, 1)
    other = services.key_create(alice).key
    entry(other)

    logged_in(alice).send(f"/keys/{key.pk}/clear/", page=f"/keys/{key.pk}/")

    assert [row.key_id for row in JournalEntry.objects.all()] == [other.pk]
    assert Usage.objects.count() == 1


@pytest.mark.parametrize("action", ["revoke", "clear"])
def test_changing_a_key_needs_the_token_of_the_form(alice, key, action):
    entry(key)

    response = logged_in(alice).client.post(f"/keys/{key.pk}/{action}/")

    assert response.status_code == 403
    assert Key.objects.get().revoked_at is None
    assert JournalEntry.objects.exists()


def test_a_get_never_clears(alice, key):
    entry(key)

    assert logged_in(alice).get(f"/keys/{key.pk}/clear/").status_code == 405
    assert JournalEntry.objects.exists()


@pytest.mark.parametrize("page", ["", "numbers/", "revoke/", "new/", "arrived/"])
def test_a_key_of_another_account_is_not_found(key, page):
    bob = logged_in(account(BOB))

    assert bob.get(f"/keys/{key.pk}/{page}").status_code == 404
    assert Visitor().get(f"/keys/{key.pk}/{page}").status_code == 302


@pytest.mark.parametrize("action", ["revoke", "clear"])
def test_mallory_cannot_revoke_or_clear_the_key_of_alice(key, action):
    entry(key)
    mallory = logged_in(account("mallory@example.org"))

    response = mallory.send(f"/keys/{key.pk}/{action}/", page="/keys/")

    assert response.status_code == 404
    assert Key.objects.get().revoked_at is None
    assert JournalEntry.objects.exists()
