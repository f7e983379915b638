"""The pages for operators keep the rules for every page, in one browser session.

In Russian, whose words are longer and take twice as many bytes.
"""

import pytest

from tests.journeys.test_every_page import broken_rules, ignore_cache

PROMOTE = "from readback.cabinet.models import User; User.objects.filter(email={!r})"
PATHS = [
    "/admin/",
    "/admin/cabinet/user/",
    "/admin/cabinet/key/?q=alice&state=active",
    "/admin/cabinet/usage/",
    "/admin/cabinet/journalentry/",
    "/admin/cabinet/announcement/add/",
    "/admin/admin/logentry/",
    "/admin/cabinet/user/1/change/",
    "/admin/cabinet/user/1/do/end-sessions/",
    "/admin/cabinet/invitation/add/",
]


@pytest.mark.long
def test_the_pages_for_operators_keep_the_rules_for_every_page(a_member):
    alice = a_member(locale="ru-RU")
    ignore_cache(alice.page)
    alice.create_key("a name that is rather long, as names of machines can be")
    alice.send_request(temperature=0.7)
    alice.expect_to_see("unknown_field")
    rights = ".update(is_staff=True, is_superuser=True)"
    alice.server.run("manage", "shell", "-c", PROMOTE.format(alice.email) + rights)
    page = alice.page
    page.goto(PATHS[2])
    page.locator("#result_list th a").first.click()
    details = page.url

    found = []
    for path in (*PATHS, details, details.replace("/change/", "/history/")):
        page.goto(path)
        found += broken_rules(page, axe=True)
    page.goto("/admin/")

    assert not found
    # The API of this server was asked.
    assert page.locator(".planes .accepted").count() == 1
