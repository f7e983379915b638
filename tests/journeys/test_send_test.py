"""From the landing page to the first answered request, without a program."""

from secrets import token_hex

from playwright.sync_api import expect

from tests.journeys.person import PASSWORD
from tests.journeys.test_every_page import NARROW
from tests.support.mailbox import link_in


def test_six_clicks_lead_to_the_first_answer_on_a_phone(a_person, server, mails):
    alice = a_person(viewport=NARROW)
    page = alice.page
    page.goto("/")
    page.locator(".hero .button").first.click()
    alice.send_form(email=alice.email, password1=PASSWORD)
    page.goto(link_in(mails.wait_for(alice.email)))
    alice.send_form()
    page.wait_for_url("**/keys/")
    alice.send_form(label="phone")
    page.wait_for_url("**/keys/*/new/")

    key = page.locator("#key").inner_text()
    text = f"Приём {token_hex(8)}\nsecond ✓"
    page.locator("#test-text").fill(text)
    page.locator("#send-test form button").click()

    result = page.locator("#test-result")
    expect(result).to_contain_text("Your text came back unchanged")
    assert key not in result.inner_text()
    # It is still the same page, so the key is still there.
    expect(page.locator("#key")).to_have_text(key)
    expect(page.locator("[data-live-url]")).to_contain_text("the test from the cabinet")
    alice.expect_no_sideways_scrolling()

    page.goto(alice.key_path)
    alice.expect_to_see("Readback's test page")
    written = [path for path in server.folder.rglob("*") if path.is_file()]
    for secret in (text.split()[1].encode(), key.encode()):
        assert not [path for path in written if secret in path.read_bytes()]
