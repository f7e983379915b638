"""An account that is deleted takes its keys along."""

import time

from playwright.sync_api import expect

from tests.journeys.person import PASSWORD

DEADLINE = 10.0


def test_a_deleted_account_is_gone_with_its_keys(a_person):
    alice = a_person()
    alice.sign_up()
    alice.create_key()
    assert alice.ask()[0] == 200

    alice.page.goto("/account/")
    alice.take_picture("account")
    alice.page.goto("/account/delete/")
    alice.take_picture("asked")
    alice.send_form(password=PASSWORD)
    expect(alice.page.locator(".messages")).to_be_visible()
    alice.take_picture("gone")

    deadline = time.monotonic() + DEADLINE
    while alice.ask()[0] == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    alice.log_in()
    expect(alice.page.locator("main .errorlist").first).to_be_visible()
