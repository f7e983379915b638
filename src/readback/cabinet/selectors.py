"""Questions about accounts, keys and the address. Reads; never writes."""

from datetime import datetime, timedelta
from typing import NamedTuple

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from readback.cabinet.models import Address, JournalEntry, Key, Usage, User
from readback.contract import JOURNAL_ROWS


class CurrentAddress(NamedTuple):
    """The address of the API, since when, and the one before it."""

    base_url: str
    since: datetime | None
    previous: str | None


def account_find(email: str) -> User | None:
    return User.objects.filter(email__iexact=email.strip()).first()


def account_is_confirmed(account: User) -> bool:
    addresses = EmailAddress.objects.filter(user=account, primary=True, verified=True)
    return addresses.exists()


def keys_of(account: User) -> QuerySet[Key]:
    """Give all keys of an account, the newest first."""
    return Key.objects.filter(owner=account).order_by("-id")


def keys_active(account: User) -> QuerySet[Key]:
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return keys_of(account).filter(unexpired, revoked_at=None)


def keys_with_requests_today(account: User) -> QuerySet[Key]:
    """Give all keys of an account, each with `requests_today`; a day is UTC's."""
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    cells = Usage.objects.filter(key=OuterRef("pk"), hour__gte=midnight)
    today = cells.values("key").annotate(sum=Sum("requests")).values("sum")
    return keys_of(account).annotate(requests_today=Coalesce(Subquery(today), 0))


def usage_of(key: Key, days: int) -> list[tuple[datetime, bool, int]]:
    """Give hour, whether accepted and requests for the last days, unsorted."""
    begin = timezone.now() - timedelta(days=days)
    cells = Usage.objects.filter(key=key, hour__gte=begin)
    rows = cells.values_list("hour", "code").annotate(Sum("requests"))
    return [(hour, not code, requests) for hour, code, requests in rows]


def journal_of(key: Key, accepted: bool | None = None) -> QuerySet[JournalEntry]:
    """Give what arrived with a key, the newest first; by outcome, if one is given.

    The last rows of each outcome: the data plane deletes older ones only now and then.
    """
    entries, last = JournalEntry.objects.filter(key=key), Q()
    for outcome in (True, False) if accepted is None else (accepted,):
        of_outcome = entries.filter(accepted=outcome).order_by("-pk").values("pk")
        last |= Q(pk__in=of_outcome[:JOURNAL_ROWS])
    return entries.filter(last).order_by("-at", "-id")


def address_history() -> QuerySet[Address]:
    """Give the addresses of the API, the current one first."""
    return Address.objects.order_by("-id")


def address_current() -> CurrentAddress:
    """Give the address that the settings name, and what the history knows of it."""
    base_url = settings.CONFIG.base_url
    known = list(address_history()[:2])
    if not known or known[0].base_url != base_url:
        # Set, but not noted yet: `readback serve` notes it when it starts.
        return CurrentAddress(base_url, None, known[0].base_url if known else None)
    previous = known[1].base_url if len(known) > 1 else None
    return CurrentAddress(base_url, known[0].since, previous)
