"""Passkeys and other second factors, with Chromium's virtual authenticator."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

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
# Marks all recovery codes as used, except those in this bit mask.
USE_CODES = """
from allauth.mfa.models import Authenticator
codes = Authenticator.objects.get(type="recovery_codes", user__email={email!r})
codes.data["used_mask"] = 0b1111111111 ^ {left}
codes.save()
"""


def at_localhost(server: Server) -> str:
    """Return the cabinet's address under the name for which passkeys work."""
    return server.cabinet_url.replace("127.0.0.1", "localhost")


class Authenticator:
    """A virtual authenticator, added to a page by the developer tools."""

    def __init__(self, page: Page) -> None:
        self._tools = page.context.new_cdp_session(page)
        self._tools.send("WebAuthn.enable")
        added = "WebAuthn.addVirtualAuthenticator"
        self._id = self._tools.send(added, {"options": AUTHENTICATOR})

    def forget_passkeys(self) -> None:
        self._tools.send("WebAuthn.clearCredentials", self._id)

    def fail_to_verify(self, fails: bool) -> None:
        options = {**self._id, "isUserVerified": not fails}
        self._tools.send("WebAuthn.setUserVerified", options)


@pytest.fixture
def alice(a_person: Callable[..., Person], server: Server) -> Person:
    alice = a_person(origin=at_localhost(server))
    ignore_cache(alice.page)
    return alice


@pytest.fixture
def authenticator(alice: Person) -> Authenticator:
    return Authenticator(alice.page)


def check_page(alice: Person, path: str) -> None:
    """Apply the rules for every page to a page that only this journey opens."""
    alice.page.goto(path)
    assert not broken_rules(alice.page, axe=True)


@pytest.mark.long
def test_a_passkey_is_missed_added_and_logs_in(alice, authenticator):
    page = alice.page
    alice.sign_up()

    check_page(alice, f"{SECOND_FACTOR}webauthn/add/")
    page.fill("[name=name]", "laptop")
    page.click("#mfa_webauthn_add")
    page.wait_for_url("**/recovery-codes/")
    assert not violations(page)
    assert page.locator("#recovery_codes code").count() == 10

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
    for left in (0b1111111111, 0b111, 0b1, 0):
        command = USE_CODES.format(email=alice.email, left=left)
        alice.server.run("manage", "shell", "-c", command)
        check_page(alice, SECOND_FACTOR)
        warning = page.locator(".note.warning")
        expect(warning).to_have_count(int(left.bit_count() <= 3))

    alice.log_out()
    alice.log_in()
    page.wait_for_url(f"**{SECOND_FACTOR}authenticate/")
    check_page(alice, f"{SECOND_FACTOR}authenticate/")
    page.click("#mfa_webauthn_authenticate")
    page.wait_for_url("**/keys/")


@pytest.mark.long
def test_a_prompt_that_ends_without_a_passkey_says_what_to_do(alice, authenticator):
    page = alice.page
    alice.sign_up()
    page.goto(f"{SECOND_FACTOR}webauthn/add/")
    authenticator.fail_to_verify(True)
    page.click("#mfa_webauthn_add")
    alice.expect_to_see("No passkey was added")
    assert not broken_rules(page, axe=True)
    authenticator.fail_to_verify(False)
    page.click("#mfa_webauthn_add")
    page.wait_for_url("**/recovery-codes/")

    alice.log_out()
    authenticator.forget_passkeys()
    page.goto("/accounts/login/")
    page.click("#passkey_login")
    alice.expect_to_see("You are not logged in")
    assert not broken_rules(page, axe=True)
    alice.log_in()
    page.wait_for_url(f"**{SECOND_FACTOR}authenticate/")
    page.click("#mfa_webauthn_authenticate")
    alice.expect_to_see("No passkey was used")
