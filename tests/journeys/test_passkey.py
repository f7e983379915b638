"""Second factors in a real browser, with a virtual authenticator of Chromium."""

import base64
import hmac
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys.conftest import DESKTOP, TIMEOUT_MS
from tests.journeys.person import Person
from tests.journeys.test_every_page import broken_rules, ignore_cache, violations
from tests.support.mailbox import Mailbox, link_in
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


class Local(Person):
    """A person who opens the cabinet at localhost, where passkeys work."""

    def sign_up(self) -> None:
        self.page.goto("/accounts/signup/")
        self.send_form(email=self.email, password1="a lamp in the harbour")
        self.page.wait_for_url("**/accounts/confirm-email/")
        link = link_in(self.mails.wait_for(self.email))
        self.page.goto(link.replace("127.0.0.1", "localhost"))
        self.send_form()
        self.page.wait_for_url("**/keys/")

    def log_out(self) -> None:
        self.page.locator("header form button").click()
        expect(self.page.locator(".messages")).to_be_visible()


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def alice(
    browser: Browser,
    server: Server,
    mails: Mailbox,
    tmp_path: Path,
    problems: list[str],
) -> Iterator[Local]:
    url = server.cabinet_url.replace("127.0.0.1", "localhost")
    context = browser.new_context(base_url=url, viewport=DESKTOP, locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    context.on(
        "console",
        lambda message: (
            problems.append(message.text)
            if message.type in ("error", "warning")
            else None
        ),
    )
    page = context.new_page()
    ignore_cache(page)
    developer_tools = context.new_cdp_session(page)
    developer_tools.send("WebAuthn.enable")
    developer_tools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    email = f"alice-{token_hex(6)}@example.org"
    yield Local(page, server, mails, email, tmp_path)
    context.close()
    assert not problems


def code_of(secret: str) -> str:
    """Return the code that an authenticator app shows now (RFC 6238)."""
    key = base64.b32decode(secret.replace(" ", ""))
    digest = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30), "sha1")
    [number] = struct.unpack_from(">I", digest, digest[-1] & 15)
    return f"{(number & 0x7FFFFFFF) % 1_000_000:06}"


def check_page(alice: Local, path: str) -> None:
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
    alice.send_form(code=code_of(secret))
    page.wait_for_url(f"**{SECOND_FACTOR}")
    check_page(alice, SECOND_FACTOR)

    alice.log_out()
    alice.log_in()
    page.wait_for_url(f"**{SECOND_FACTOR}authenticate/")
    check_page(alice, f"{SECOND_FACTOR}authenticate/")
    page.click("#mfa_webauthn_authenticate")
    page.wait_for_url("**/keys/")
