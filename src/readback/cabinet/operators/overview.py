"""The operators' overview, which is the index of the admin: figures about the service.

No figure shows an address, a key's name or anything that a client sent. Counting a
million rows takes a noticeable part of a second, so the figures are cached for a
minute.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any, cast

from allauth.account.models import EmailAddress
from django.core.cache import cache
from django.db.models import Count, Q
from django.utils import timezone

from readback import __version__
from readback.cabinet.keys import chart
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.mail import outbox
from readback.cabinet.models import Key, OutgoingMail, User, key_is_active
from readback.cabinet.operators import status
from readback.rehearsal import REHEARSED

CACHE_SECONDS = 60

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_MONTH = timedelta(days=30)


def figures() -> dict[str, Any]:
    # Another version of the cabinet may use the same cache, with other fields.
    name = f"overview-{__version__}"
    return cast(dict[str, Any], cache.get_or_set(name, _count, CACHE_SECONDS))


def _count() -> dict[str, Any]:
    now = timezone.now()
    usage = key_selectors.usage_for_charts()
    day = chart.last_day(usage, now)
    month = chart.last_month(usage, now)
    failed = OutgoingMail.objects.filter(attempts__gt=0).count()
    return {
        "at": now,
        "since": {"day": now - _DAY, "week": now - _WEEK, "month": now - _MONTH},
        "accounts": _accounts(now),
        "keys": _keys(now),
        "day": day,
        "month": month,
        "refusals": _refusals(usage, month.bars[0].start),
        "mails": {**outbox.waiting(), "failed": failed, **outbox.totals()},
        "version": __version__,
        "last_backup": status.last_backup(),
    }


def _accounts(now: datetime) -> dict[str, int]:
    confirmed = EmailAddress.objects.filter(primary=True, verified=True)
    logged_in = User.objects.filter(last_login__gte=now - _MONTH).values_list("pk")
    used = Key.objects.filter(last_used_at__gte=now - _MONTH).values_list("owner")
    new = Count("pk", filter=Q(date_joined__gte=now - _WEEK))
    return User.objects.aggregate(total=Count("pk"), new=new) | {
        "confirmed": confirmed.count(),
        "active": logged_in.union(used).count(),
    }


def _keys(now: datetime) -> dict[str, int]:
    active = key_is_active()
    conditions = {
        "active": active,
        "used_in_a_day": Q(last_used_at__gte=now - _DAY),
        "used_in_a_month": Q(last_used_at__gte=now - _MONTH),
        "expiring": active & Q(expires_at__lte=now + _WEEK),
        "revoked": Q(revoked_at__isnull=False),
    }
    counts = {name: Count("pk", filter=rule) for name, rule in conditions.items()}
    return Key.objects.aggregate(**counts)


def _refusals(usage: list[chart.Count], month: datetime) -> list[tuple[str, int]]:
    """Return each refusal's code and its number of requests in the 30-day chart."""
    counts: Counter[str] = Counter()
    for hour, code, requests in usage:
        if code not in ("", REHEARSED) and hour >= month:
            counts[code] += requests
    return counts.most_common()
