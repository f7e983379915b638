"""Accounts with keys, and the rows that the API writes about their requests."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from readback.cabinet.accounts import services
from readback.cabinet.models import JournalEntry, Key, Usage, User
from tests.cabinet.visitor import Visitor

ALICE, BOB = "alice@example.org", "bob@example.org"
OPERATOR = "operator@example.org"


def account(email: str = ALICE) -> User:
    return services.account_create(email, confirmed=True)


def logged_in(owner: User, language: str = "en") -> Visitor:
    visitor = Visitor(language)
    visitor.client.force_login(owner)
    return visitor


def entry(key: Key, *, seconds_ago: float = 0, **fields: Any) -> JournalEntry:
    """Add a journal entry, by default for an accepted chat request."""
    defaults = {"accepted": True, "endpoint": "chat", "status": 200}
    at = timezone.now() - timedelta(seconds=seconds_ago)
    return JournalEntry.objects.create(key=key, at=at, **(defaults | fields))


def refused(key: Key, code: str, status: int, detail: str = "", **fields: Any) -> None:
    entry(key, accepted=False, code=code, status=status, detail=detail, **fields)


def used(key: Key, requests: int, *, hours_ago: int = 0, code: str = "") -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    Usage.objects.create(
        key=key,
        hour=hour - timedelta(hours=hours_ago),
        endpoint="chat",
        code=code,
        requests=requests,
    )
