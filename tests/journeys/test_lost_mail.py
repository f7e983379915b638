"""A person who waits for an e-mail has it sent again."""

from tests.journeys.conftest import PHONE
from tests.journeys.person import PASSWORD


def test_a_mail_is_sent_again(a_person):
    alice = a_person(viewport=PHONE, color_scheme="dark", locale="ru-RU")
    alice.page.goto("/accounts/signup/")
    alice.send_form(email=alice.email, password1=PASSWORD)
    alice.page.wait_for_url("**/accounts/confirm-email/")
    alice.expect_no_sideways_scrolling()
    alice.page.goto("/accounts/login/")
    alice.send_form(login=alice.email, password=PASSWORD)
    alice.page.wait_for_url("**/accounts/confirm-email/")

    alice.page.goto("/accounts/password/reset/")
    alice.send_form(email=alice.email)
    alice.page.wait_for_url("**/password/reset/done/")
    alice.expect_no_sideways_scrolling()
    alice.mails.messages.clear()
    alice.page.get_by_role("main").get_by_role("link").click()
    alice.send_form(email=alice.email)
    alice.page.wait_for_url("**/password/reset/done/")
    alice.mails.wait_for(alice.email)
