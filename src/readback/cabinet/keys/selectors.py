"""Queries on keys, usage and the journal. Nothing here writes."""

from datetime import timedelta

from django.db.models import Max, Q, QuerySet, Sum
from django.shortcuts import get_object_or_404
from django.utils import timezone

from readback import keys
from readback.cabinet.keys.chart import Count
from readback.cabinet.models import (
    JournalEntry,
    Key,
    NetworkKey,
    UnmatchedRequest,
    Usage,
    User,
    key_is_active,
)
from readback.cabinet.serving.visitors import AccountRequest
from readback.client_address import network_digest
from readback.contract import JOURNAL_ROWS, UNMATCHED_ROWS, UNMATCHED_SECONDS
from readback.rehearsal import REHEARSED

_OUTCOMES = {
    "accepted": Q(accepted=True),
    "refused": Q(accepted=False) & ~Q(code=REHEARSED),
    REHEARSED: Q(code=REHEARSED),
}


def keys_of(account: User) -> QuerySet[Key]:
    return Key.objects.filter(owner=account).order_by("-id")


def keys_active(account: User) -> QuerySet[Key]:
    return keys_of(account).filter(key_is_active())


def key_find(text: str) -> Key | None:
    digest = keys.digest(text.encode())
    return Key.objects.select_related("owner").filter(digest=digest).first()


def key_replaced_by(new: Key) -> Key | None:
    return Key.objects.filter(replaced_by=new).first()


def usage_for_charts(key: Key | None = None) -> list[Count]:
    """Return the usage of a key, or of all keys, in the period of the charts."""
    # The longer chart shows 30 days in UTC; one more covers the start of the first day.
    usage = Usage.objects.filter(hour__gte=timezone.now() - timedelta(days=31))
    if key:
        usage = usage.filter(key=key)
    return list(usage.values_list("hour", "code").annotate(Sum("requests")))


def journal_of(key: Key, outcome: str = "") -> QuerySet[JournalEntry]:
    """Return the journal of a key, newest first; an unknown outcome selects all rows.

    There are at most JOURNAL_ROWS accepted and JOURNAL_ROWS refused requests. The API
    deletes older ones only from time to time.
    """
    entries = JournalEntry.objects.filter(key=key)
    newest = Q()
    for accepted in (True, False):
        with_outcome = entries.filter(accepted=accepted).order_by("-pk").values("pk")
        newest |= Q(pk__in=with_outcome[:JOURNAL_ROWS])
    chosen = _OUTCOMES.get(outcome, Q())
    return entries.filter(newest, chosen).order_by("-at", "-id")


def latest_request(key: Key, *, preferably_not_of: str) -> JournalEntry | None:
    """Return the journal's newest row from another program, or else its newest row."""
    is_of_program = Q(user_agent__startswith=preferably_not_of)
    rows = journal_of(key).alias(is_of_program=is_of_program)
    return rows.order_by("is_of_program", "-at", "-id").first()


def unmatched_requests(client_address: str) -> list[UnmatchedRequest]:
    """Return recent requests from the network of an address, newest first.

    Identical requests are one row, with the time of the last one.
    """
    key = NetworkKey.objects.values_list("key", flat=True).first()
    network = network_digest(client_address, bytes(key)) if key else b""
    if not network:
        return []
    start = timezone.now() - timedelta(seconds=UNMATCHED_SECONDS)
    recent = UnmatchedRequest.objects.filter(network=network, at__gte=start)
    equal = recent.values("endpoint", "code", "detail", "user_agent")
    last = equal.annotate(id=Max("id"), at=Max("at"), requests=Sum("requests"))
    shown = last.order_by("-id")[:UNMATCHED_ROWS]
    return [UnmatchedRequest(**row) for row in shown]


def owned_key(request: AccountRequest, key_id: int) -> Key:
    """Return a key of the user; raise 404 for a key that belongs to another account."""
    return get_object_or_404(Key, pk=key_id, owner=request.user)
