"""A person's requests arrive without the key, and the waiting page says why."""

import subprocess

import pytest
from playwright.sync_api import expect

from tests.journeys.person import Person
from tests.support.keys import mistyped
from tests.support.programs import needed_program


@pytest.fixture(autouse=True)
def curl_is_installed() -> None:
    needed_program("curl")


def curl(*arguments: str) -> None:
    command = ["curl", "--silent", "--output", "/dev/null", *arguments]
    subprocess.run(command, check=True, timeout=60)


def mistakes(alice: Person) -> dict[str, tuple[str, ...]]:
    """Return curl's arguments for each mistake, keyed by the sentence on the page."""
    base_url = alice.shown_address()
    chat = f"{base_url}/chat/completions"
    usual = ("--user-agent", alice.email)
    wrong = f"Authorization: Bearer {mistyped(alice.key)}"
    key = f"x-api-key: {alice.key}"
    return {
        "its checksum does not match": (f"{base_url}/models", *usual, "-H", wrong),
        "The Authorization header is missing": (chat, *usual, "-H", key, "-d", "{}"),
        "/v1/chat/completions only accepts POST": (chat, *usual, "-X", "OPTIONS"),
        "Correct the base URL: it must end in /v1.": (
            *(f"{base_url.removesuffix('/v1')}/models", *usual),
        ),
    }


def test_the_page_of_a_new_key_shows_what_arrives_without_it(a_member):
    alice = a_member()
    alice.create_key()
    # Check the interval that is set: a measured one would depend on the machine.
    live = alice.page.locator("[data-live-url]")
    assert float(live.get_attribute("data-interval") or "inf") <= 2
    rows = alice.page.locator(".unmatched li").filter(has_text=alice.email)
    for sentence, arguments in mistakes(alice).items():
        curl(*arguments)
        expect(rows.filter(has_text=sentence)).to_have_count(1)
    alice.expect_no_sideways_scrolling()
    assert alice.key[8:-4] not in alice.page.locator(".unmatched").inner_text()

    # After an accepted request, the page shows only that one.
    assert alice.send_request()[0] == 200
    alice.expect_to_see("Your text came back unchanged.")
    expect(alice.page.locator(".unmatched")).to_have_count(0)
