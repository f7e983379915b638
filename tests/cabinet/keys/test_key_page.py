"""A key's page: charts, journal, revoking, clearing; only for its owner."""

import re
from html import unescape

import pytest
from django.test import override_settings

from readback.cabinet.keys import services
from readback.cabinet.models import JournalEntry, Key, Usage
from readback.config import Config
from tests.cabinet.owners import BOB, account, entry, logged_in, refused, used
from tests.cabinet.visitor import Visitor, text_of, words_of


def test_the_charts_count_accepted_and_refused(alice, key):
    used(key, 5)
    used(key, 7, hours_ago=3)
    used(key, 2, hours_ago=3, code="unknown_field")
    used(key, 100, hours_ago=26)

    page = logged_in(alice).get(f"/keys/{key.pk}/")

    words = words_of(page)
    assert "Last 24 hours 12 accepted 2 refused" in words
    assert "In the last 30 days: 112 accepted, 2 refused." in words
    assert re.search(r"<title>\d\d:00: 7 accepted, 2 refused</title>", text_of(page))


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
    entry(key, requests=41)
    entry(key)

    page = logged_in(alice).get(f"/keys/{key.pk}/")

    words = words_of(page)
    assert "is /v1 missing? Use GET /v1/models or" in words
    assert "refused other 404 not_found What to change" in words
    assert "OpenAI/Python 3.49.0 192.0.2.0/24" in words
    assert 'href="/docs/errors#not_found"' in text_of(page)
    # Identical requests share a row.
    assert "accepted ×41" in words and "×1 " not in words


def test_a_russian_page_shows_the_russian_text_and_the_original_detail(alice, key):
    refused(key, "unknown_field", 400, "The field temperature is not accepted.")

    page = logged_in(alice, "ru").get(f"/keys/{key.pk}/")

    words = words_of(page)
    assert "отклонено chat 400 unknown_field Что изменить" in words
    assert "В теле запроса есть поле, не" in words
    assert "Отправляйте только model, messages, stream" in words
    detail = '<p class="wire-text" lang="en">The field temperature is not accepted.</p>'
    assert detail in text_of(page)


def test_the_card_says_what_works_and_what_to_change(alice, key):
    refused(
        key,
        "unknown_field",
        400,
        "All of it.",
        differences="top_p stream_options messages.system stream zebra",
    )

    page = logged_in(alice).get(f"/keys/{key.pk}/?outcome=refused")

    words = words_of(page)
    works = "Works: network, address, key, readable JSON"
    assert f"What to change {works} 400 unknown_field Do not send top_p" in words
    assert "Turn off streaming. stream_options Remove the system prompt." in words
    unable = "If it has no setting for this, it cannot comply. That is fine"
    assert "Do not send zebra. Your program or its library may" in words
    assert (
        f"{unable}: your connection works. Test with curl. The API’s message" in words
    )


@pytest.mark.parametrize(
    ("code", "works"),
    [
        ("not_found", "network, TLS, key"),
        ("invalid_key", "network, TLS, address"),
        ("invalid_json", "network, TLS, address, key"),
        ("stream_unavailable", "network, TLS, address, key, readable JSON"),
        ("invalid_max_tokens", "network, TLS, address, key, readable JSON"),
    ],
)
def test_what_works_depends_on_the_code_and_on_the_address(alice, key, code, works):
    refused(key, code, 400, "x")
    visitor = logged_in(alice)

    plain = words_of(visitor.get(f"/keys/{key.pk}/"))
    with override_settings(CONFIG=Config(public_base_url="https://api.example.org/v1")):
        encrypted = words_of(visitor.get(f"/keys/{key.pk}/"))

    assert f"Works: {works} 400 {code}" in encrypted
    assert f"Works: {works.replace(', TLS', '')} 400 {code}" in plain


def test_a_change_names_the_setting_of_the_program(alice, key):
    curl, library = "curl/8.5.0", "OpenAI/Python 3.49.0"
    refused(key, "unsupported_media_type", 415, "x", **sent_by(curl, "content-type"))
    refused(key, "unknown_field", 400, "x", **sent_by(library, "response_format"))
    refused(key, "unknown_field", 400, "x", **sent_by("Zed/1.0", "temperature"))

    words = words_of(logged_in(alice).get(f"/keys/{key.pk}/"))

    assert "curl: -H 'Content-Type: application/json'" in words
    assert "openai (Python): create(...) without response_format" in words
    assert "openai (Python) OpenAI/Python 3.49.0" in words
    assert "Zed cannot be made to comply. That is fine" in words


def sent_by(user_agent: str, *differences: str) -> dict[str, str]:
    return {"user_agent": user_agent, "differences": " ".join(differences)}


def test_explanations_in_the_body_are_off_until_the_owner_turns_them_on(alice, key):
    visitor = logged_in(alice)
    path = f"/keys/{key.pk}/"
    assert not Key.objects.get().explains_refusals
    refused(key, "unknown_field", 400)
    offer = "Does your program show only Error code: 400"
    for page in (path, f"{path}numbers/", f"{path}arrived/"):
        assert offer in words_of(visitor.get(page))

    form = {"explains_refusals": "on"}
    visitor.send(f"{path}explanations/", form, page=path)
    assert Key.objects.get().explains_refusals
    words = words_of(visitor.get(path))
    assert "Explain refusals in the body (on)" in words and offer not in words

    visitor.send(f"{path}explanations/", {}, page=path)
    assert not Key.objects.get().explains_refusals


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


def test_a_key_can_be_renamed_even_if_it_is_revoked(alice, key):
    services.key_revoke(key)
    visitor = logged_in(alice)
    path = f"/keys/{key.pk}/rename/"
    assert 'value="laptop"' in text_of(visitor.get(path))
    assert Key.objects.get().label == "laptop"

    for name in ("  new phone ", "👩🏽\u200d🚀", "x" * 60, ""):
        response = visitor.send(path, {"label": name})
        assert response.headers["Location"] == f"/keys/{key.pk}/"
        assert Key.objects.get().label == name.strip()
    for wrong in ("x" * 61, "a\tb", "\u202eolleh"):
        response = visitor.send(path, {"label": wrong})
        assert "errorlist" in text_of(response)
        assert Key.objects.get().label == ""


def test_clearing_empties_the_journal_and_keeps_the_counts(alice, key):
    entry(key)
    used(key, 1)
    other = services.key_create(alice).key
    entry(other)

    logged_in(alice).send(f"/keys/{key.pk}/clear/", page=f"/keys/{key.pk}/")

    assert [row.key_id for row in JournalEntry.objects.all()] == [other.pk]
    assert Usage.objects.count() == 1


PAGES = (
    *("", "numbers/", "revoke/", "rename/", "rotate/", "new/", "arrived/"),
    "unmatched/",
)


def test_a_key_of_another_account_is_not_found(key):
    bob = logged_in(account(BOB))
    stranger = Visitor()

    for page in PAGES:
        assert bob.get(f"/keys/{key.pk}/{page}").status_code == 404, page
        assert bob.get(f"/keys/{10**30}/{page}").status_code == 404, page
        login = stranger.get(f"/keys/{key.pk}/{page}").headers["Location"]
        assert login.startswith("/accounts/login/"), page


def test_mallory_cannot_change_the_key_of_alice(key):
    entry(key)
    mallory = logged_in(account("mallory@example.org"))

    # A POST to new/ sends a test.
    actions = ("revoke/", "clear/", "explanations/", "rename/", "rotate/", "new/")
    for action in actions:
        path = f"/keys/{key.pk}/{action}"
        fields = {"overlap": "0"}
        answer = mallory.send(path, fields, page="/keys/")
        assert answer.status_code == 404, action
        # Another site in Alice's browser cannot do it either.
        forged = logged_in(key.owner).client.post(path, fields)
        assert forged.status_code == 403, action
    assert Key.objects.get().revoked_at is None
    assert Key.objects.get().label == "laptop"
    assert JournalEntry.objects.exists()
