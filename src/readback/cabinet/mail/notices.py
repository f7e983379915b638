"""What owners are told: notices of changes, and reminders that a key expires.

The services call these functions within the transaction of the change, so that an
e-mail is added to the outbox together with the change or not at all. The line in the
security log is written after the commit.

Each worker's sender adds due reminders from time to time. It claims a reminder by
setting the key's `reminded_at`, in the transaction that adds the e-mail to the outbox,
so that it is added only once.
"""

from datetime import UTC, datetime, timedelta
from functools import partial

from allauth.account.adapter import get_adapter
from allauth.core import context
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from readback.cabinet.mail import outbox
from readback.cabinet.models import Key, User
from readback.cabinet.serving import security_log

# For this long after the sign-up, people get no e-mail about keys that they create.
_FIRST_VISIT = timedelta(minutes=15)
# A key counts as in use if it was used this recently.
IN_USE = timedelta(days=30)
# The same for a rotated key, whose programs should have the new key by now.
_ROTATED_IN_USE = timedelta(days=1)
# Owners are reminded this long before a key expires. The last reminder is listed first.
REMINDERS = (timedelta(days=1), timedelta(days=7))


def record(event: str, **ids: int) -> None:
    transaction.on_commit(partial(security_log.record, event, **ids))


def notify(event: str, account: User, **details: str) -> None:
    """Log the event, and e-mail the owner with the template of the same name."""
    record(event, account=account.pk)
    _mail(event, account, details)


def key_created(key: Key, *, notify: bool) -> None:
    """Report a new key, without an e-mail if a page creates it soon after sign-up."""
    record("key_created", account=key.owner_id, key=key.pk)
    is_first_visit = key.created_at - key.owner.date_joined < _FIRST_VISIT
    if notify and not (is_first_visit and context.request):
        details = {"key": _describe(key), "key_id": str(key.pk)}
        _mail("key_created", key.owner, details)


def key_revoked(key: Key) -> None:
    record("key_revoked", account=key.owner_id, key=key.pk)
    _mail("key_revoked", key.owner, {"key": _describe(key)})


def key_rotated(old: Key, new: Key) -> None:
    record("key_created", account=new.owner_id, key=new.pk)
    record("key_rotated", account=old.owner_id, key=old.pk)
    ends = _moment(old.expires_at) if old.is_active else ""
    details = {"key": _describe(old), "new_key": str(new), "ends": ends}
    _mail("key_rotated", old.owner, details | {"key_id": str(new.pk)})


def _describe(key: Key) -> str:
    return f"{key} ({key.name})" if key.label else str(key)


def _moment(at: datetime | None) -> str:
    """Return a time in UTC, as e-mails show it."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" if at else ""


def _mail(name: str, owner: User, details: dict[str, str]) -> None:
    # Without a mail server, e-mails are printed to the terminal, where users of the
    # pages look for them. A command must print only its own output.
    if context.request is None and not settings.CONFIG.smtp_url:
        return
    adapter = get_adapter(context.request)
    adapter.send_notification_mail(f"account/email/{name}", owner, details)


def add_due_reminders() -> None:
    """Add due reminders to the outbox, each in its own transaction.

    Last reminders come first: after an outage, they are sent instead of earlier ones.
    """
    now = timezone.now()
    ends = timedelta()
    for notice in REMINDERS:
        for key in _due(notice, ends, now):
            _remind(key, ends, now)
        ends = notice


@transaction.atomic
def _remind(key: Key, ends: timedelta, now: datetime) -> None:
    """Remind the owner that a key expires, unless another sender has done so."""
    unchanged = Key.objects.filter(
        pk=key.pk,
        reminded_at=key.reminded_at,
        expires_at=key.expires_at,
        revoked_at=None,
    )
    if unchanged.update(reminded_at=now):
        assert key.expires_at
        lifetime = key.expires_at - ends - now
        owner = key.owner
        details = {
            "key_id": str(key.pk),
            "key": _describe(key),
            "expires": _moment(key.expires_at),
            "used": _moment(key.last_used_at),
            "new_key": str(key.replaced_by or ""),
        }
        to = owner.email
        template = "account/email/key_expires"
        outbox.add(template, to, lifetime, account=owner, details=details)


def _due(notice: timedelta, ends: timedelta, now: datetime) -> QuerySet[Key]:
    """Return the keys that expire within `notice`, but not within `ends`.

    Keys that have had this reminder are left out; an older `reminded_at` is from the
    previous reminder, or from an earlier expiry. A key with a short lifetime gets
    no reminder soon after its creation.
    """
    begins = F("expires_at") - notice
    current = Q(replaced_by=None, last_used_at__gt=now - IN_USE)
    rotated = Q(replaced_by__isnull=False, last_used_at__gt=now - _ROTATED_IN_USE)
    return (
        Key.objects.filter(
            current | rotated,
            Q(reminded_at=None) | Q(reminded_at__lt=begins),
            expires_at__gt=now + ends,
            expires_at__lte=now + notice,
            revoked_at=None,
            created_at__lte=begins - notice,
            owner__is_active=True,
            owner__emailaddress__primary=True,
            owner__emailaddress__verified=True,
        )
        .select_related("owner", "replaced_by")
        .order_by("expires_at")
    )
