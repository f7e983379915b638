"""Reminders that a key expires: which keys are due, and that each is sent once.

The sender of each worker asks for them from time to time. A reminder is claimed by its
key's `reminded_at`, in the transaction that adds the mail to the outbox, so any number
of senders add it once, and a killed one adds all or nothing.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from readback.cabinet.mail import notices
from readback.cabinet.models import Key

# A key that was used this recently is in use.
IN_USE = timedelta(days=30)
# The same for a rotated key: its programs should have the new key by now.
_ROTATED_IN_USE = timedelta(days=1)
# Keys that one call reminds of.
BATCH = 100


class ReminderStep(NamedTuple):
    """A reminder that is sent when `notice` is left, or later, until `ends` is left."""

    notice: timedelta
    ends: timedelta


# The most urgent first. After a downtime, only the last reminder that is due is sent.
STEPS = (
    ReminderStep(timedelta(days=1), timedelta()),
    ReminderStep(timedelta(days=7), timedelta(days=1)),
)


def add_due() -> bool:
    """Add reminders that are due to the outbox; return whether there may be more."""
    now = timezone.now()
    for step in STEPS:
        keys = list(_due(step, now)[:BATCH])
        for key in keys:
            _remind(key, step, now)
        if len(keys) == BATCH:
            return True
    return False


@transaction.atomic
def _remind(key: Key, step: ReminderStep, now: datetime) -> None:
    unchanged = Key.objects.filter(
        pk=key.pk,
        reminded_at=key.reminded_at,
        expires_at=key.expires_at,
        revoked_at=None,
    )
    if unchanged.update(reminded_at=now):
        assert key.expires_at
        notices.key_expires(key, key.expires_at - step.ends - now)


def _due(step: ReminderStep, now: datetime) -> QuerySet[Key]:
    """Return the keys that expire soon and whose owner does not know it yet.

    A reminder before the step began was for an earlier expiry or an earlier step. A key
    with a short life gets no reminder soon after it was made.
    """
    begins = F("expires_at") - step.notice
    current = Q(replaced_by=None, last_used_at__gt=now - IN_USE)
    rotated = Q(replaced_by__isnull=False, last_used_at__gt=now - _ROTATED_IN_USE)
    confirmed = EmailAddress.objects.filter(
        user=OuterRef("owner"), primary=True, verified=True
    )
    return (
        Key.objects.filter(
            current | rotated,
            Q(reminded_at=None) | Q(reminded_at__lt=begins),
            Exists(confirmed),
            expires_at__gt=now + step.ends,
            expires_at__lte=now + step.notice,
            revoked_at=None,
            created_at__lte=begins - step.notice,
            owner__is_active=True,
        )
        .select_related("owner", "replaced_by")
        .order_by("expires_at")
    )
