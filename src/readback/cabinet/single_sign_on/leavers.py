"""Leavers: accounts whose person has not logged in with the provider for a long time.

They are told a week before, then deactivated, which stops their keys. The sender of
each worker calls `work` from time to time. A notice is claimed by `leave_notice_at`, in
the transaction that adds its mail, so any number of cabinets send it once.

Nobody is deactivated without a notice that is a week old, whatever last logins say: not
when the setting is turned on, and not after a clock was wrong. A notice that is much
older does not count: it is from before a restored backup or a long downtime.
"""

from datetime import datetime, timedelta

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from readback.cabinet.accounts import services
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.cabinet.single_sign_on.services import LEEWAY_SECONDS

NOTICE = timedelta(days=7)
# After this time a notice is given again.
NOTICE_COUNTS = timedelta(days=14)
# Accounts that one call tells, and that it deactivates.
BATCH = 100


def work() -> bool:
    """Tell and deactivate accounts that are due; return whether there may be more."""
    if not settings.CONFIG.oidc_leave_days:
        return False
    now = timezone.now()
    told = list(_without_notice(now)[:BATCH])
    for account in told:
        _tell(account, now)
    leaving = list(_due(now)[:BATCH])
    deactivated = [_deactivate(account, now) for account in leaving]
    return len(told) == BATCH or (len(leaving) == BATCH and any(deactivated))


def account_returned(account: User) -> None:
    """Forget the notice, because the person has logged in with the provider."""
    User.objects.filter(pk=account.pk).update(leave_notice_at=None)


def waiting() -> QuerySet[User]:
    """Return the accounts that have been told."""
    return User.objects.filter(is_active=True, leave_notice_at__isnull=False)


def left() -> QuerySet[User]:
    """Return the accounts that were deactivated; activating one removes it here."""
    return User.objects.filter(is_active=False, leave_notice_at__isnull=False)


def _absent(now: datetime, notice: timedelta) -> QuerySet[User]:
    """Return accounts that will not have logged in for long when `notice` is over."""
    people = SocialAccount.objects.filter(
        user=OuterRef("pk"), provider=settings.CONFIG.oidc_issuer
    )
    since = now + notice - timedelta(days=settings.CONFIG.oidc_leave_days)
    connected = User.objects.filter(Exists(people), is_active=True).order_by("pk")
    return connected.exclude(Exists(people.filter(last_login__gt=since)))


def _without_notice(now: datetime) -> QuerySet[User]:
    none = Q(leave_notice_at=None)
    # Another cabinet may have given it since, or have a clock that is slightly ahead.
    future = Q(leave_notice_at__gt=now + timedelta(seconds=LEEWAY_SECONDS))
    void = Q(leave_notice_at__lte=now - NOTICE_COUNTS) | future
    return _absent(now, NOTICE).filter(none | void)


def _due(now: datetime) -> QuerySet[User]:
    valid = Q(
        leave_notice_at__gt=now - NOTICE_COUNTS, leave_notice_at__lte=now - NOTICE
    )
    return _absent(now, timedelta()).filter(valid)


@transaction.atomic
def _tell(account: User, now: datetime) -> None:
    unchanged = User.objects.filter(
        pk=account.pk, leave_notice_at=account.leave_notice_at, is_active=True
    )
    if unchanged.update(leave_notice_at=now):
        notices.account_leaves(account, now + NOTICE, NOTICE)


@transaction.atomic
def _deactivate(account: User, now: datetime) -> bool:
    """Deactivate the account, unless its person has come back in the meantime."""
    account = services.account_lock(account)
    if not _due(now).filter(pk=account.pk).exists():
        return False
    try:
        services.account_deactivate(account)
    except ServiceError:  # the last operator
        return False
    notices.record("leaver_deactivated", account=account.pk)
    return True
