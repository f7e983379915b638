"""The number of SQL statements for a page does not depend on the number of rows."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from readback.cabinet.keys import services
from readback.cabinet.models import (
    JournalEntry,
    Key,
    OutgoingMail,
    UnmatchedRequest,
    Usage,
    User,
)
from readback.contract import MAX_ACTIVE_KEYS
from tests.cabinet.keys.test_unmatched import sent
from tests.cabinet.owners import account, logged_in, used
from tests.cabinet.visitor import Visitor
from tests.cabinet.which_database import BOTH

DATABASES = BOTH

# Each page, and the number of SQL statements that it needs however many rows there are.
STATEMENTS = {
    "/": 0,
    "/keys/": 5,
    "/keys/{key}/": 5,
    "/keys/{key}/numbers/": 5,
    "/keys/{key}/arrived/": 6,
    "/keys/{key}/unmatched/": 5,
    "/account/": 5,
}


@pytest.fixture
def key(database) -> Key:
    return services.key_create(account(), "laptop").key


def test_more_rows_take_no_more_statements(key):
    assert dict(statements(key)) == STATEMENTS
    add_rows(key)
    more = {path: n for path, n in statements(key) if n > STATEMENTS[path]}
    assert not more


def statements(key: Key) -> Iterator[tuple[str, int]]:
    owner = logged_in(key.owner)
    owner.get("/keys/")  # adds the new session to the list
    for path in STATEMENTS:
        visitor = Visitor() if path == "/" else owner
        with CaptureQueriesContext(connection) as queries:
            assert visitor.get(path.format(key=key.pk)).status_code == 200, path
        yield path, len(queries)


def add_rows(key: Key) -> None:
    now = timezone.now()
    owner = key.owner
    ended = {"owner": owner, "last_four": "abcd"}
    digests = iter(number.to_bytes(32) for number in range(1000))
    Key.objects.bulk_create(
        Key(digest=next(digests), revoked_at=revoked_at, **ended)
        for revoked_at in [None] * (MAX_ACTIVE_KEYS - 1) + [now] * 60
    )
    JournalEntry.objects.bulk_create(
        JournalEntry(
            key=key,
            at=now - timedelta(seconds=number),
            accepted=number % 2,
            endpoint="chat",
            status=200 if number % 2 else 400,
            code="" if number % 2 else "unknown_field",
            differences="" if number % 2 else f"field{number} temperature",
            # While only tests from the cabinet arrive, the page of a new key keeps
            # waiting.
            user_agent=f"Readback-cabinet/{number}",
        )
        for number in range(200)
    )
    for hour in range(40):
        used(key, 1, hours_ago=hour)
    for number in range(4):
        sent(detail=f"Number {number}.")
    _add_accounts(owner)
    assert Usage.objects.count() == 40 and UnmatchedRequest.objects.count() == 4


def _add_accounts(owner: User) -> None:
    now = timezone.now()
    later = now + timedelta(days=1)
    User.objects.bulk_create(User(email=f"bob{n}@example.org") for n in range(40))
    names = [f"session{number}" for number in range(40)]
    Session.objects.bulk_create(
        Session(session_key=name, session_data="", expire_date=later) for name in names
    )
    UserSession.objects.bulk_create(
        UserSession(user=owner, session_key=name, ip="192.0.2.0", last_seen_at=now)
        for name in names
    )
    OutgoingMail.objects.bulk_create(
        OutgoingMail(template="x", address=owner.email, sealed="x", expires_at=later)
        for _ in range(40)
    )
