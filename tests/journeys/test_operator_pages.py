"""The pages for operators follow the rules for every page.

The lists are full of long rows. They are in Russian, because Russian words are longer
and take twice as many bytes.
"""

import pytest
from playwright.sync_api import expect

from tests.journeys.test_every_page import broken_rules, ignore_cache

# Makes an account an operator, and fills the first page of every list.
PREPARE = """
from datetime import timedelta
from django.utils import timezone
from readback.cabinet.models import AuditEntry, JournalEntry, Key, Usage, User
now, rows = timezone.now(), range(25)
User.objects.filter(email={email!r}).update(is_staff=True)
alice = User.objects.get(email={email!r})
long = "a.rather.long.name.{{}}@one.department.of.a.company.example"
User.objects.bulk_create(User(email=long.format(n)) for n in range(50))
Key.objects.bulk_create(
    Key(owner=owner, digest=bytes([n]) * 32, last_four="0000", label="a name " * 8,
        last_used_at=now, expires_at=now + timedelta(days=9))
    for n, owner in enumerate(User.objects.filter(email__startswith="a.rather")))
key = Key.objects.filter(owner=alice).first()
Usage.objects.bulk_create(
    Usage(key=key, hour=now, endpoint="chat", code=f"code_{{n}}") for n in rows)
JournalEntry.objects.bulk_create(
    JournalEntry(key=key, at=now, accepted=False, endpoint="chat", status=400,
        code="unknown_field", detail="A detail. " * 12, user_agent="An agent " * 8)
    for n in rows)
AuditEntry.objects.bulk_create(
    AuditEntry(by=alice.email, by_id=alice.pk, object_type="account", object_id=n,
        object_name=long.format(n), change="Deactivated") for n in rows)
"""
OURS = [
    "/admin/",
    "/admin/cabinet/user/1/change/",
    "/admin/cabinet/user/add/",
]
KEYS = "/admin/cabinet/key/?q=a.rather&state=active"
LISTS = ["/admin/cabinet/user/", KEYS, "/admin/cabinet/auditentry/"]


@pytest.mark.long
def test_the_pages_for_operators_keep_the_rules_for_every_page(a_member):
    alice = a_member(locale="ru-RU")
    ignore_cache(alice.page)
    alice.create_key("a name that is rather long, as names of machines can be")
    alice.send_request(temperature=0.7)
    alice.expect_to_see("unknown_field")
    alice.server.run("manage", "shell", "-c", PREPARE.format(email=alice.email))
    page = alice.page
    found = []
    for path in (*OURS, *LISTS):
        page.goto(path)
        found += broken_rules(page, axe=True)
    page.emulate_media(media="print")
    expect(page.locator("tbody th").first).to_be_visible()
    page.emulate_media(media="screen")
    page.goto("/admin/cabinet/user/1/change/")
    page.locator("[name=action]").first.click()
    # The answer to a form seems too small, because its styles are already loaded.
    found += [each for each in broken_rules(page, axe=True) if "bytes" not in each]
    page.goto(LISTS[0])
    page.locator(".action-select").first.check()
    found += [each for each in broken_rules(page, axe=True) if "bytes" not in each]

    assert not found
