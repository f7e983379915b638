"""The outbox: mails that wait in the database until a sender takes them.

A sender claims a mail by moving its due time into the future, so if it dies, the mail
becomes due again. Nothing here renders or sends a mail.

Mails are limited per mailbox, per sender, and for both together. Those that anyone can
ask for are counted apart from notices to the owner of an account: otherwise, a stranger
who asks for many could keep a notice from being sent. The counts do not depend on
whether an account exists. The numbers are in the settings.
"""

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from allauth.core import ratelimit
from django.db import transaction
from django.db.models import F, Min, QuerySet
from django.http import HttpRequest
from django.utils import timezone, translation

from readback.cabinet.models import MailOutcome, MailTotal, OutgoingMail, User
from readback.cabinet.serving import allauth_internals

# Templates of mails that something else depends on. The path of a template is stored
# with its row, so a mail that waits during an upgrade needs it to stay the same.
CONFIRMATION = "account/email/email_confirmation"
SIGN_UP_CONFIRMATION = "account/email/email_confirmation_signup"
PASSWORD_RESET = "account/email/password_reset_key"
EMAIL_CHANGED = "account/email/email_changed"
INVITATION = "account/email/invitation"
KEY_EXPIRES = "account/email/key_expires"
ACCOUNT_LEAVES = "account/email/account_leaves"
# For how long a notice is worth sending.
NOTICE_LIFETIME = timedelta(days=3)
# Longer than a sender works on one mail: see the times in `backends.py`.
CLAIM_TIME = timedelta(seconds=60)

# Set when this process has added a mail, so that its sender need not poll for it.
added = threading.Event()


class Waiting(NamedTuple):
    """How many mails wait, and since when the oldest of them does."""

    mails: int
    since: datetime | None


def add(
    template: str,
    address: str,
    lifetime: timedelta,
    *,
    account: User | None = None,
    details: Mapping[str, str] | None = None,
    language: str = "",
) -> None:
    """Add a mail, as part of the current transaction if there is one.

    Without a language it is in that of the account, or else of the current page.
    """
    if account:
        language = language or account.language
    OutgoingMail.objects.create(
        template=template,
        account=account,
        address=address,
        language=language or translation.get_language() or "en",
        details=dict(details or {}),
        expires_at=timezone.now() + lifetime,
    )
    transaction.on_commit(added.set)


def claim() -> OutgoingMail | None:
    """Return the mail that is due for the longest time; no other sender gets it now."""
    # A read alone does not take SQLite's only write lock, so polling disturbs no one.
    if not _due().exists():
        return None
    with transaction.atomic():
        mail = _due().select_for_update(skip_locked=True, of=("self",)).first()
        if mail is not None:
            mail.due_at = timezone.now() + CLAIM_TIME
            mail.save(update_fields=["due_at"])
    return mail


def postpone(mail: OutgoingMail, delay: timedelta) -> None:
    """Release a claimed mail, to be tried again after the delay."""
    # If the claim has ended, the row may belong to another sender.
    claimed = OutgoingMail.objects.filter(pk=mail.pk, due_at=mail.due_at)
    claimed.update(due_at=timezone.now() + delay, attempts=F("attempts") + 1)


@transaction.atomic
def finish(mail: OutgoingMail, outcome: MailOutcome) -> None:
    """Delete a claimed mail and count what became of it."""
    OutgoingMail.objects.filter(pk=mail.pk).delete()
    count(outcome)


def count(outcome: MailOutcome) -> None:
    MailTotal.objects.get_or_create(outcome=outcome)
    MailTotal.objects.filter(outcome=outcome).update(mails=F("mails") + 1)


def waiting() -> Waiting:
    mails = OutgoingMail.objects.all()
    return Waiting(mails.count(), mails.aggregate(at=Min("created_at"))["at"])


def totals() -> dict[str, int]:
    counted = dict(MailTotal.objects.values_list("outcome", "mails"))
    return {outcome: counted.get(outcome, 0) for outcome in MailOutcome.values}


def _due() -> QuerySet[OutgoingMail]:
    mails = OutgoingMail.objects.select_related("account").order_by("due_at")
    return mails.filter(due_at__lte=timezone.now())


def allow_request(request: HttpRequest, address: str) -> bool:
    """Count a mail that a visitor asks for; return whether it may be sent."""
    to, is_account = mailbox(address), request.user.is_authenticated
    network = allauth_internals.ratelimit.get_ip(request)
    sender = f"account {request.user.pk}" if is_account else network
    by = "mail_by_account" if is_account else "mail_by_address"
    return (
        ratelimit.consume(request, action="mail_by_and_to", key=f"{sender} {to}")
        and ratelimit.consume(request, action="mail_to", key=to)
        and ratelimit.consume(request, action=by)
    )


def allow_notice(request: HttpRequest | None, address: str) -> bool:
    """Count a notice; return whether it may be sent. Commands have no limit."""
    if request is None:
        return True
    return ratelimit.consume(request, action="notice_to", key=mailbox(address))


def mailbox(address: str) -> str:
    """Return what all addresses of one mailbox have in common.

    Most providers deliver alice+anything@example.org to alice@example.org.
    """
    local, _at, domain = address.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"
