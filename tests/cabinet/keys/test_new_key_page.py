"""The page of a new key shows the key once, with everything needed to use it."""

import re
import time
from base64 import b64encode

from django.conf import settings

from readback import keys
from readback.cabinet.models import Key
from tests.cabinet.accounts.test_security_log import _everything_stored
from tests.cabinet.owners import entry, logged_in, refused
from tests.cabinet.visitor import Visitor, text_of, words_of


def create(visitor: Visitor) -> str:
    """Send the form and return the URL of the redirect."""
    return visitor.send("/keys/", {"label": "laptop"}).headers["Location"]


def shown_key(page) -> str:
    found = re.search(r'<code id="key"[^>]*>([^<]+)</code>', text_of(page))
    assert found
    return found[1]


def test_the_page_shows_the_key_once_and_fills_it_into_the_examples(alice):
    visitor = logged_in(alice)
    path = create(visitor)
    assert visitor.client.head(path).status_code == 405  # HEAD shows no key
    page = visitor.get(path)
    key = shown_key(page)
    text = text_of(page)

    assert keys.why_invalid(key.encode()) is None
    stored = Key.objects.get()
    assert bytes(stored.digest) == keys.digest(key.encode())
    assert (stored.last_four, stored.label) == (key[-4:], "laptop")
    assert "no-store" in page.headers["Cache-Control"]
    for placeholder in ("BASE_URL", "API_KEY", "MODEL"):
        assert f"&lt;{placeholder}&gt;" not in text
    # In the key's own box, in the form that sends a test, and in three programs.
    assert text.count(key) == 1 + 1 + 3
    assert f">{settings.CONFIG.base_url}</code>" in text

    again = visitor.get(path, follow=True)
    assert again.redirect_chain == [(f"/keys/{stored.pk}/", 302)]
    assert key not in text_of(again)
    said = "This key has already been shown and cannot be shown again."
    assert said in words_of(again)
    assert Key.objects.count() == 1


def test_between_form_and_page_no_table_contains_the_key(alice):
    visitor = logged_in(alice)
    path = create(visitor)
    tables = _everything_stored()

    text = shown_key(visitor.get(path))

    secret = text.removeprefix(keys.PREFIX)
    for form in (secret, secret.encode().hex(), b64encode(secret.encode()).decode()):
        assert form.rstrip("=")[4:-4] not in tables


def test_after_five_minutes_the_page_says_to_create_another_key(alice, monkeypatch):
    visitor = logged_in(alice)
    path = create(visitor)
    later = time.time() + 301
    monkeypatch.setattr(time, "time", lambda: later)

    page = visitor.get(path, follow=True)

    assert "revoke it and create a new one" in words_of(page)


def test_the_page_waits_for_the_first_request(key):
    visitor = logged_in(key.owner)

    waiting = visitor.get(f"/keys/{key.pk}/arrived/")
    assert "Waiting for your first request…" in words_of(waiting)
    seen = waiting.headers["X-Version"]
    same = visitor.get(f"/keys/{key.pk}/arrived/?seen={seen}")
    assert (same.status_code, same.content) == (204, b"")
    refused(key, "invalid_key", 401, "This key is revoked.")
    ended = words_of(visitor.get(f"/keys/{key.pk}/arrived/"))
    assert "Connected" not in ended and "This key is revoked." in ended

    entry(key)
    arrived = visitor.get(f"/keys/{key.pk}/arrived/?seen={seen}")
    assert arrived.status_code == 200
    assert words_of(arrived).startswith("Connected accepted 200")
    assert "Your text came back unchanged." in words_of(arrived)


def test_a_refused_request_is_explained(key):
    refused(key, "unknown_field", 400, "Field temperature is not accepted.")

    words = words_of(logged_in(key.owner).get(f"/keys/{key.pk}/arrived/"))

    assert words.startswith("Connected, but the request was refused 400 unknown_field")
    assert "What to change Field temperature is not accepted. Send only the" in words
