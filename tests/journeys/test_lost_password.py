"""Resetting a forgotten password by e-mail."""

import pytest
from playwright.sync_api import expect

from tests.support.mailbox import link_in

NEW_PASSWORD = "another lamp, another harbour"


@pytest.mark.long
def test_a_forgotten_password_is_reset_by_mail(a_person):
    alice = a_person()
    alice.sign_up()
    alice.page.locator("form[action='/accounts/logout/'] button").click()
    expect(alice.page.locator("a[href='/accounts/login/']")).to_be_visible()

    alice.page.goto("/accounts/password/reset/")
    alice.send_form(email=alice.email)
    alice.page.wait_for_url("**/password/reset/done/")
    alice.page.goto(link_in(alice.mails.wait_for(alice.email, "new password")))
    alice.send_form(password1=NEW_PASSWORD)
    alice.page.wait_for_url("**/password/reset/key/done/")

    bob = a_person()
    bob.email = alice.email
    bob.log_in()
    expect(bob.page.locator("main .errorlist").first).to_be_visible()
    bob.log_in(NEW_PASSWORD)
    bob.page.wait_for_url("**/keys/")
