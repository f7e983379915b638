"""The operators' overview: its figures and how often they are counted."""

import html
import re
from datetime import timedelta

from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import services as key_services
from readback.cabinet.mail import outbox
from readback.cabinet.models import Key, MailOutcome, MailTotal, OutgoingMail, User
from tests.cabinet.owners import account, used
from tests.cabinet.visitor import Visitor, text_of, words_of
from tests.cabinet.which_database import ON_BOTH


def overview(visitor: Visitor) -> str:
    """Return the words of the page, with its figures counted again."""
    cache.clear()
    response = visitor.get("/admin/")
    assert response.status_code == 200
    return words_of(response)


@ON_BOTH
def test_accounts_and_keys_are_counted_by_state(operator):
    now = timezone.now()
    alice = account()
    long_ago = now - timedelta(days=60)
    User.objects.filter(pk=alice.pk).update(date_joined=long_ago, last_login=now)
    account_services.account_create("bob@example.org", confirmed=False)
    keys = [key_services.key_create(alice, name).key for name in "abcd"]
    key_services.key_revoke(keys[0])
    changes = (
        {"expires_at": now + timedelta(days=6), "last_used_at": now},
        {"expires_at": now - timedelta(days=1)},
        {"last_used_at": now - timedelta(days=20)},
    )
    for key, change in zip(keys[1:], changes, strict=True):
        Key.objects.filter(pk=key.pk).update(**change)

    page = overview(operator)

    assert (
        "3 in total 2 with a confirmed address 2 active in the last 30 days "
        "2 new in the last 7 days"
    ) in page
    assert (
        "2 active now 1 used in the last 24 hours 2 used in the last 30 days "
        "1 expire within 7 days 1 revoked in total"
    ) in page


@ON_BOTH
def test_each_count_of_accounts_and_keys_links_to_the_rows(operator):
    alice = account()
    key = key_services.key_create(alice).key
    soon = timezone.now() + timedelta(days=1)
    Key.objects.filter(pk=key.pk).update(last_used_at=timezone.now(), expires_at=soon)
    page = operator.get("/admin/")

    links = re.findall(r'href="(/admin/cabinet/(?:user|key)/\?[^"]*)"', text_of(page))
    assert len(links) == len(set(links)) == 8
    for path in map(html.unescape, links):
        shown = alice.email if "/user/" in path else f"…{key.last_four}"
        is_listed = shown in words_of(operator.get(path))
        assert is_listed == ("revoked" not in path), path
    for path in (
        "user/?emailaddress__verified__exact=0",
        "key/?state=revoked",
        "key/?state=expired",
    ):
        page = words_of(operator.get(f"/admin/cabinet/{path}"))
        assert alice.email not in page and f"…{key.last_four}" not in page


@ON_BOTH
def test_requests_of_all_keys_are_added_up(operator):
    alice, bob = account(), account("bob@example.org")
    for owner in (alice, bob):
        key = key_services.key_create(owner).key
        used(key, 1000)
        used(key, 3, code="unknown_field")
        used(key, 500, hours_ago=24 * 10)
        used(key, 2, hours_ago=24 * 10, code="unknown_field")
        used(key, 7, hours_ago=24 * 40)

    page = overview(operator)

    assert "Last 24 hours 2,000 accepted 6 refused" in page
    assert "Last 30 days 3,000 accepted 10 refused" in page
    assert "unknown_field 10" in page


@ON_BOTH
def test_mails_are_counted(operator):
    for _mail in range(2):
        outbox.add(
            "account/email/account_deleted", "mallory@example.org", timedelta(days=1)
        )
    early = timezone.now() - timedelta(hours=3)
    oldest = OutgoingMail.objects.order_by("pk")[:1].values("pk")
    OutgoingMail.objects.filter(pk__in=oldest).update(created_at=early, attempts=2)
    MailTotal.objects.create(outcome=MailOutcome.REFUSED, mails=1)

    page = overview(operator)

    assert "2 waiting 1 of them failed" in page
    assert "The oldest has been waiting for 3 hours" in page
    assert "1 refused by the mail server" in page


@ON_BOTH
def test_the_figures_are_counted_once_a_minute_with_few_statements(operator):
    overview(operator)
    cache.clear()
    with CaptureQueriesContext(connection) as first:
        operator.get("/admin/")
    with CaptureQueriesContext(connection) as second:
        operator.get("/admin/")

    assert len(first) <= 25
    counts = [query for query in second.captured_queries if "COUNT(" in query["sql"]]
    assert not counts
    assert len(second) <= 6
