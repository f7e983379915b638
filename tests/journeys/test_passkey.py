"""Second factors in a real browser, with a virtual authenticator of Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.journeys.person import Person
from tests.journeys.test_every_page import broken_rules, ignore_cache, violations
from tests.support.browser import code
from tests.support.server import Server

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
SECOND_FACTOR = "/account/second-factor/"


def at_localhost(server: Server) -> str:
    """Return the address of the cabinet under the name for which passkeys work."""
    return server.cabinet_url.replace("127.0.0.1", "localhost")


def add_authenticator(page: Page) -> None:
    developer_tools = page.context.new_cdp_session(page)
    developer_tools.send("WebAuthn.enable")
    developer_tools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})


@pytest.fixture
def alice(a_person: Callable[..., Person], server: Server) -> Person:
    alice = a_person(origin=at_localhost(server))
    ignore_cache(alice.page)
    add_authenticator(alice.page)
    return alice


def check_page(alice: Person, path: str) -> None:
    """Check the rules for every page on one that only this journey opens."""
    alice.page.goto(path)
    assert not broken_rules(alice.page, axe=True)


@pytest.mark.long
def test_a_passkey_is_missed_added_and_logs_in(alice):
    page = alice.page
    alice.sign_up()

    check_page(alice, f"{SECOND_FACTOR}webauthn/add/")
    page.fill("[name=name]", "laptop")
    page.check("[name=passwordless]")
    page.click("#mfa_webauthn_add")
    page.wait_for_url("**/recovery-codes/")
    assert not violations(page)
    assert len(page.locator("#recovery_codes").input_value().split()) == 10

    alice.log_out()
    page.goto("/accounts/login/")
    page.click("#passkey_login")
    page.wait_for_url("**/keys/")

    page.goto(SECOND_FACTOR)
    alice.expect_to_see("laptop")
    page.goto(f"{SECOND_FACTOR}totp/activate/")
    secret = page.locator("#authenticator_secret").input_value()
    alice.send_form(code=code(secret, 0))
    page.wait_for_url(f"**{SECOND_FACTOR}")
    check_page(alice, SECOND_FACTOR)

    alice.log_out()
    alice.log_in()
    page.wait_for_url(f"**{SECOND_FACTOR}authenticate/")
    check_page(alice, f"{SECOND_FACTOR}authenticate/")
    page.click("#mfa_webauthn_authenticate")
    page.wait_for_url("**/keys/")
