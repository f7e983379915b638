"""Deleting an account, which stops its keys."""

import time

from playwright.sync_api import expect

from tests.journeys.person import PASSWORD

DEADLINE = 10.0


def test_deleting_an_account_stops_its_keys(a_person):
    alice = a_person()
    alice.sign_up()
    alice.create_key()
    assert alice.send_request()[0] == 200

    alice.page.goto("/account/")
    alice.page.goto("/account/delete/")
    alice.send_form(password=PASSWORD)
    expect(alice.page.locator(".messages")).to_be_visible()

    deadline = time.monotonic() + DEADLINE
    while alice.send_request()[0] == 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    alice.log_in()
    expect(alice.page.locator("main .errorlist").first).to_be_visible()
