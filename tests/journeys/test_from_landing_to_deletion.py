"""A person's whole journey; only the passkey needs JavaScript."""

import re

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.journeys.person import Person
from tests.journeys.test_passkey import SECOND_FACTOR, Authenticator, at_localhost
from tests.support.browser import code
from tests.support.waiting import wait_until

CASES = {
    "en-GB": (1440, "Your text came back unchanged", "Do not send temperature."),
    "ru-RU": (360, "Текст вернулся без изменений", "Не отправляйте temperature."),
}


@pytest.mark.long
@pytest.mark.parametrize("locale", CASES)
def test_from_the_landing_page_to_a_deleted_account(browser, server, mails, locale):
    width, unchanged, advice = CASES[locale]
    options = {
        "base_url": at_localhost(server),
        "viewport": {"width": width, "height": 800},
        "locale": locale,
    }
    page = browser.new_context(java_script_enabled=False, **options).new_page()
    alice = Person(page, server, mails, f"alice-{locale.lower()}@example.org")

    page.goto("/")
    page.locator(".hero .button").first.click()
    alice.sign_up()
    alice.send_form(label="laptop")
    alice.key = page.locator("#key").inner_text()
    assert page.locator("[data-copy]").first.is_hidden()
    page.locator("#send-test form button").click()
    alice.expect_to_see(unchanged)
    assert alice.send_request(temperature=1)[0] == 400
    page.goto(re.sub(r"new/.*", "", page.url))
    while not page.locator(".journal a[href^='#change-']").count():
        page.reload()
    alice.expect_to_see(advice)

    page.locator("a[href$='/rotate/']").click()
    alice.send_form()
    old, alice.key = alice.key, page.locator("#key").inner_text()
    assert alice.key != old and alice.send_request()[0] == 200

    page.goto(f"{SECOND_FACTOR}totp/activate/")
    secret = page.locator("#authenticator_secret").input_value()
    alice.send_form(code=code(secret, 0))
    page.wait_for_url("**/recovery-codes/")
    recovery_code = page.locator("#recovery_codes code").first.inner_text()
    alice.log_out()
    alice.log_in()
    alice.send_form(code=recovery_code)
    page.wait_for_url("**/keys/")
    alice.expect_no_sideways_scrolling()

    login = page.context.storage_state()
    with browser.new_context(storage_state=login, **options) as with_scripts:
        add_passkey(with_scripts, "phone")
    page.goto(SECOND_FACTOR)
    expect(page.locator("tbody [scope=row]", has_text="phone")).to_have_count(1)

    page.goto("/account/")
    page.locator("a[href='/account/delete/']").click()
    alice.send_form(email=alice.email)
    expect(page.locator(".messages")).to_be_visible()
    wait_until(lambda: alice.send_request()[0] == 401, "the key is refused")
    page.context.close()


def add_passkey(context: BrowserContext, name: str) -> None:
    page = context.new_page()
    Authenticator(page)
    page.goto(f"{SECOND_FACTOR}webauthn/add/")
    page.fill("[name=name]", name)
    page.click("#mfa_webauthn_add")
    expect(page.locator(".messages")).to_be_visible()
