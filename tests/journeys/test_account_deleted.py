"""Deleting an account, which stops its keys."""

import pytest
from playwright.sync_api import expect

from tests.journeys.person import PASSWORD
from tests.support.waiting import wait_until


@pytest.mark.long
def test_deleting_an_account_stops_its_keys(a_member):
    alice = a_member()
    alice.create_key()
    assert alice.send_request()[0] == 200

    alice.page.goto("/account/")
    alice.page.goto("/account/delete/")
    alice.send_form(password=PASSWORD)
    expect(alice.page.locator(".messages")).to_be_visible()

    wait_until(lambda: alice.send_request()[0] != 200, "the key is refused")
    alice.log_in()
    expect(alice.page.locator("main .errorlist").first).to_be_visible()
