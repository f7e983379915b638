"""An operator invites a person, who chooses a password on a phone in dark colours."""

from urllib.parse import urlsplit

from tests.journeys.person import PASSWORD
from tests.journeys.test_every_page import NARROW, violations
from tests.support.mailbox import link_in


def test_an_invited_person_gets_to_the_keys(a_person, server, mails):
    alice = a_person(viewport=NARROW, color_scheme="dark")
    server.run("account", "invite", alice.email)
    # Use only the path, because the command has another address in its settings.
    alice.page.goto(urlsplit(link_in(mails.wait_for(alice.email))).path)

    alice.expect_no_sideways_scrolling()
    assert not violations(alice.page)
    alice.send_form(password1=PASSWORD)
    alice.page.goto("/accounts/login/")
    alice.send_form(login=alice.email, password=PASSWORD)

    alice.page.wait_for_url("**/keys/")
