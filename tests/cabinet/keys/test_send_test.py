"""Test requests that the cabinet sends: what is shown, limited, and never stored.

The API is a real server with its own database. Alice's key there is also her key in the
test's cabinet.
"""

import json
import re
import socket
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from threading import Event

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import override_settings

from readback import keys
from readback.cabinet.keys import send_test, services
from readback.cabinet.keys.send_test import MAX_AT_ONCE
from readback.cabinet.models import Key
from tests.cabinet.accounts.test_security_log import _everything_stored
from tests.cabinet.owners import account, entry, logged_in, refused
from tests.cabinet.visitor import text_of, words_of
from tests.cabinet.which_database import ON_BOTH
from tests.support.commands import free_port
from tests.support.keys import mistyped
from tests.support.peers import OK, answer, peer
from tests.support.server import UNLIMITED, ephemeral_server
from tests.support.waiting import wait_until

TEXT = "zyzzyva-47 Приём ✓"
UNCHANGED = "Your text came back unchanged"
NOT_THE_KEY = "Your key is not the reason."
SETTING = "READBACK_PUBLIC_BASE_URL"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ephemeral_server(tmp_path_factory.mktemp("server"), UNLIMITED) as running:
        yield running


@pytest.fixture
def alice(unsent_mails, monkeypatch):
    # An exchange takes a few milliseconds, or longer on a busy machine.
    monkeypatch.setattr(send_test, "SECONDS", 60.0)
    return account()


@contextmanager
def api_at(url: str):
    with override_settings(CONFIG=replace(settings.CONFIG, public_base_url=url)):
        yield


@pytest.fixture
def api(server, unsent_mails):
    with api_at(server.base_url):
        yield server


@pytest.fixture
def key(server, alice) -> Key:
    made = services.key_create(alice, "laptop").key
    made.digest = keys.digest(server.api_key.encode())
    made.last_four = keys.last_characters(server.api_key)
    made.save()
    return made


def send(owner, of: Key, text: str = TEXT, *, key: str):
    """Fill in the form on the page of the new key, and submit it."""
    fields = {"text": text, "key": key}
    return logged_in(owner).post(f"/keys/{of.pk}/new/", fields)


@ON_BOTH
def test_the_page_of_a_new_key_sends_a_test_and_still_shows_the_key(alice, key, api):
    page = send(alice, key, key=api.api_key)

    assert page.status_code == 200
    assert "no-store" in page.headers["Cache-Control"]
    words = words_of(page)
    assert UNCHANGED in words
    assert "What is left to test is your program" in words
    assert "Waiting for your first request" in words and "Nothing arrives?" in words
    # As before the test: in the key's own box, in the form, and in three programs.
    assert text_of(page).count(api.api_key) == 1 + 1 + 3


@pytest.mark.parametrize(
    "text, code",
    [
        ("", "empty_content"),
        ("x" * 8193, "content_too_large"),
        ("ы" * 16_000, "content_too_large"),
        ("✓" * 16_000, "request_too_large"),
        ("\x01" * 16_000, "request_too_large"),
    ],
)
def test_a_text_that_the_contract_forbids_is_refused_by_the_api(
    alice, key, api, text, code
):
    page = send(alice, key, text, key=api.api_key)

    words = words_of(page)
    assert (
        f"The API refused the request {send_test.REFUSALS[code].status} {code}" in words
    )
    assert "The address and the API work." in words
    assert NOT_THE_KEY not in words
    assert len(page.content) < 40_000 + len(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "a\nb",
        "\n\n leading and trailing \n",
        "\x00\x01\x1b[2J\x7f\u0085\u2028\ufeff",
        "\u202eright to left\u202c السلام",
        "</textarea><script>alert(1)</script>{{ x }}{% y %}\"'\\",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿👩‍👩‍👧‍👦Z͑ͫ̓ͪ̂ͫ̽",
        "x" * 8192,
    ],
)
def test_odd_texts_come_back_unchanged_and_are_shown_as_text(alice, key, api, text):
    # Browsers send CR LF, and the page starts a textarea with a line break.
    page = send(alice, key, text=text.replace("\n", "\r\n"), key=api.api_key)

    assert UNCHANGED in words_of(page)
    source = text_of(page)
    assert "<script>alert" not in source
    [area] = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", source, re.S)
    assert unescape(area) == text


def test_only_the_key_of_the_page_is_sent(alice, key, server):
    for entered in (mistyped(server.api_key), "", "ключ", "x" * 9_000, "a\r\nB: c"):
        page = send(alice, key, key=entered)
        assert page.headers["Location"] == f"/keys/{key.pk}/"


def _foreign_answers() -> dict[str, tuple[list[bytes], str]]:
    html = b"<html><script>alert(1)</script>\x1b[2J\xff Login \xe2\x80\xae"
    page = answer(html, b"Content-Type: text/html", status=b"502 Bad Gateway")
    other_code = answer(b'{"error": {"code": "invalid_key"}}')
    elsewhere = answer(b"", b"Location: http://127.0.0.1:9/", status=b"308 Moved")
    no_json = answer(b"[" * 60_000)
    return {
        "the page of a proxy": ([page], "Something other than the API answers 502"),
        "a refusal with another status": ([other_code], "Something other than the API"),
        "deep JSON": ([no_json], "Something other than the API answers 200"),
        "a redirect": ([elsewhere], "Something other than the API answers 308"),
        "garbage": (
            [b"\x00\xffgarbage\r\n\r\n"],
            "no complete answer from the API \\x00ÿgarbage",
        ),
        "nothing": ([], "Remote end closed connection without response"),
        "too much": ([OK, b"\r\n", b"x" * 99_999], "the answer is too large"),
    }


@pytest.mark.parametrize("name", _foreign_answers())
def test_something_else_than_the_api_is_not_blamed_on_the_key(alice, key, server, name):
    parts, sentence = _foreign_answers()[name]
    with peer(*parts) as other, api_at(other.url):
        page = send(alice, key, key=server.api_key)

    words = words_of(page)
    assert sentence in words
    assert NOT_THE_KEY in words and "run the probe" in words
    assert SETTING not in words
    assert "<script>alert" not in text_of(page)
    assert not re.search("[\x1b\x00\u202e]", text_of(page))
    assert len(page.content) < 40_000
    assert len(other.requests) == 1


def test_an_answer_that_repeats_the_key_is_shown_without_it(alice, key, server):
    repeated = answer(f"you sent {server.api_key}".encode())
    with peer(repeated) as other, api_at(other.url):
        page = send(alice, key, key=server.api_key)

    assert "you sent [key]" in words_of(page)
    # The form and our own snippets still contain the key.
    assert text_of(page).count(server.api_key) == 5


def test_a_text_that_comes_back_changed_is_shown(alice, key, server):
    content = json.dumps({"choices": [{"message": {"content": "é\ud800"}}]})
    with peer(answer(content.encode())) as other, api_at(other.url):
        page = send(alice, key, text="e\u0301", key=server.api_key)

    assert "Your text came back changed é\\ud800 Something between" in words_of(page)


def test_an_address_that_cannot_be_reached_is_explained_to_operators(
    alice, key, server
):
    port = free_port()
    with api_at(f"http://127.0.0.1:{port}/v1"):
        visitors = words_of(send(alice, key, key=server.api_key))
        alice.is_staff = True
        alice.save()
        operators = words_of(send(alice, key, key=server.api_key))

    assert "no complete answer from the API [Errno 111] Connection refused" in visitors
    assert "some networks do not let a server reach its own public address" in visitors
    assert NOT_THE_KEY in visitors and SETTING not in visitors
    assert f"the test went to http://127.0.0.1:{port}/v1" in operators
    assert SETTING in operators


def test_while_others_hang_the_next_test_is_not_sent(alice, key, server, monkeypatch):
    """The page does not even wait for the name lookup, which has no deadline."""
    monkeypatch.setattr(send_test, "SECONDS", 0.3)
    monkeypatch.setattr(send_test, "_GRACE_SECONDS", 0.1)
    released = Event()
    looked_up = []

    def hang(*asked: object, **_: object) -> list[object]:
        looked_up.append(asked)
        released.wait(60)
        return []

    with monkeypatch.context() as patch, api_at("http://api.example.org/v1"):
        patch.setattr(socket, "getaddrinfo", hang)
        for _ in range(MAX_AT_ONCE):
            assert "TimeoutError" in words_of(send(alice, key, key=server.api_key))
        page = send(alice, key, key=server.api_key)
        released.set()
        free = send_test._slots._free
        wait_until(lambda: free._value == MAX_AT_ONCE, "the threads end")

    assert page.status_code == 429
    assert "there were too many tests" in words_of(page)
    assert server.api_key in text_of(page)
    assert len(looked_up) == MAX_AT_ONCE


def test_an_account_may_send_ten_tests_a_minute(alice, key, server, clock):
    with peer(answer(b"x")) as other, api_at(other.url):
        pages = [send(alice, key, key=server.api_key) for _ in range(11)]
        assert [page.status_code for page in pages] == [200] * 10 + [429]
        assert len(other.requests) == 10
        clock[0] += 61
        assert send(alice, key, key=server.api_key).status_code == 200

    words = words_of(pages[-1])
    assert "there were too many tests" in words
    # The limit must not make the person lose the key.
    assert text_of(pages[-1]).count(server.api_key) == 5
    assert TEXT in words


@ON_BOTH
def test_nothing_of_a_test_is_kept(alice, key, api, caplog, capfd):
    visitor = logged_in(alice)
    path = f"/keys/{key.pk}/"
    fields = {"text": TEXT, "key": api.api_key}
    page = visitor.send(f"{path}new/", fields, page=path)
    assert UNCHANGED in words_of(page)
    with peer(b"\xff") as other, api_at(other.url):
        visitor.send(f"{path}new/", fields, page=path)

    places = {
        "tables": _everything_stored(),
        "sessions": str([row.get_decoded() for row in Session.objects.all()]),
        "cache": str(cache),
        "log": caplog.text + "".join(capfd.readouterr()),
        "cookies": str(visitor.client.cookies),
        "headers": str(page.headers),
        "API": "".join(
            path.read_bytes().decode("latin-1")
            for path in api.folder.rglob("*")
            if path.is_file() and path.name != "stdout"
        ),
    }
    secret = api.api_key.removeprefix(keys.PREFIX)
    for place, kept in places.items():
        assert "zyzzyva-47" not in kept, place
        assert secret not in kept, place


def test_the_test_is_not_taken_for_the_first_request_of_a_program(alice, key):
    visitor = logged_in(alice)
    path = f"/keys/{key.pk}/arrived/"
    waiting = visitor.get(path)
    entry(key, user_agent="Readback-cabinet/0.1.0")

    tested = visitor.get(f"{path}?seen={waiting.headers['X-Version']}")
    words = words_of(tested)
    assert "Waiting for your first request… accepted 200" in words
    assert "This was the test from the cabinet." in words
    assert "Connected" not in words
    same = visitor.get(f"{path}?seen={tested.headers['X-Version']}")
    assert same.status_code == 204

    refused(key, "invalid_model", 400, "x", user_agent="curl/8.5.0")
    entry(key, user_agent="Readback-cabinet/0.1.0")
    assert "Connected, but the request was refused 400 invalid_model" in words_of(
        visitor.get(path)
    )
