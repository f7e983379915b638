"""A person's requests do not carry the key, and the page that waits says why."""

import socket
import subprocess

import pytest
from playwright.sync_api import expect

from tests.journeys.conftest import PHONE
from tests.journeys.person import Person
from tests.support.keys import mistyped
from tests.support.programs import needed_program
from tests.support.wire import Endpoint


@pytest.fixture(autouse=True)
def curl_is_installed() -> None:
    needed_program("curl")


def curl(*arguments: str) -> None:
    command = ["curl", "--silent", "--output", "/dev/null", *arguments]
    subprocess.run(command, check=True, timeout=60)


def send_tls_bytes(base_url: str) -> None:
    endpoint = Endpoint.of(base_url)
    with socket.create_connection((endpoint.host, endpoint.port), 60) as client:
        client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert client.recv(4096).startswith(b"HTTP/1.1 400 ")


def mistakes(alice: Person) -> dict[str, tuple[str, ...]]:
    """Return what the page says of each mistake, and the arguments of curl."""
    base_url = alice.shown_address()
    chat, usual = f"{base_url}/chat/completions", ("--user-agent", alice.email)
    wrong = f"Authorization: Bearer {mistyped(alice.key)}"
    key = f"x-api-key: {alice.key}"
    return {
        "its checksum does not match": (f"{base_url}/models", *usual, "-H", wrong),
        "The Authorization header is missing": (chat, *usual, "-H", key, "-d", "{}"),
        "/v1/chat/completions only accepts POST": (chat, *usual, "-X", "OPTIONS"),
        "/v1 is missing at the end of the base URL": (
            *(f"{base_url.removesuffix('/v1')}/models", *usual),
        ),
    }


def see_every_mistake(alice: Person) -> None:
    # How long it takes depends on the machine; how often the page asks does not.
    live = alice.page.locator("[data-live-url]")
    assert float(live.get_attribute("data-interval") or "inf") <= 2
    rows = alice.page.locator(".unmatched li").filter(has_text=alice.email)
    for sentence, arguments in mistakes(alice).items():
        curl(*arguments)
        expect(rows.filter(has_text=sentence)).to_have_count(1)
    alice.expect_no_sideways_scrolling()
    assert alice.key[8:-4] not in alice.page.locator(".unmatched").inner_text()


def test_the_page_of_a_new_key_shows_what_arrives_without_it(a_member):
    alice = a_member()
    alice.create_key()
    see_every_mistake(alice)

    # Afterwards the right request is all that is shown.
    assert alice.send_request()[0] == 200
    alice.expect_to_see("Your text came back unchanged.")
    expect(alice.page.locator(".unmatched")).to_have_count(0)


@pytest.mark.long
def test_the_page_of_a_key_answers_why_nothing_arrives(a_member):
    alice = a_member(locale="ru-RU", viewport=PHONE, color_scheme="dark")
    alice.create_key()
    base_url = alice.shown_address()
    alice.page.goto(alice.key_path)
    alice.page.locator("main a[href$='/unmatched/']").click()
    alice.page.wait_for_url("**/unmatched/")
    see_every_mistake(alice)
    send_tls_bytes(base_url)
    expect(
        alice.page.locator(".unmatched li").filter(has_text="malformed_request")
    ).to_have_count(1)


@pytest.mark.long
def test_without_javascript_the_page_is_reloaded(a_member):
    alice = a_member(java_script_enabled=False)
    alice.page.goto("/keys/")
    alice.send_form(label="no scripts")
    alice.page.goto(f"{alice.key_path}unmatched/")
    curl(f"{alice.shown_address()}/models", "--user-agent", alice.email)

    while alice.page.locator(f"text={alice.email}").count() == 0:
        alice.page.reload()
