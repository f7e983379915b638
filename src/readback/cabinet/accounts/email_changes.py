"""Undo a change of an account's address, by the link in the mail to the old address.

The token of the link is signed and not stored. When it is used, the account notes the
time from the change until then: tokens of changes in this time are void, and those of
earlier changes are not (docs/decisions.md says what Mallory could do otherwise).
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core import signing
from django.db import IntegrityError, transaction
from django.utils import timezone

from readback.cabinet.accounts import selectors, services
from readback.cabinet.mail import notices
from readback.cabinet.models import User

# Whoever takes an account over may add a way to log in first, and then change the
# address. Its owner gets a notice about that at once, and has this long to act on it.
_BEFORE_THE_CHANGE = timedelta(days=1)
UNDO_LIFETIME = timedelta(days=7)


class UndoToken(NamedTuple):
    """Who gets which address back, and when it was changed (Unix time)."""

    account: int
    email: str
    changed_at: float

    @property
    def text(self) -> str:
        return _signer().sign_object(list(self))

    @property
    def changed(self) -> datetime:
        return datetime.fromtimestamp(self.changed_at, UTC)


def read_undo_token(text: str) -> UndoToken | None:
    """Return the token, unless it is forged or too old."""
    try:
        token = UndoToken(*_signer().unsign_object(text))
    except signing.BadSignature:
        return None
    return token if token.changed > timezone.now() - UNDO_LIFETIME else None


def _signer() -> signing.Signer:
    return signing.Signer(salt="readback.cabinet.email_undo")


def can_undo(token: UndoToken, account: User) -> bool:
    """Return whether there still is something to undo, and the token is not void."""
    void = any(since <= token.changed_at <= end for since, end in void_times(account))
    return account.is_active and account.email != token.email and not void


def void_times(account: User) -> list[tuple[float, float]]:
    """Return the times that matter: older tokens have expired anyway."""
    oldest = (timezone.now() - UNDO_LIFETIME).timestamp()
    return [(since, end) for since, end in account.email_undos or [] if end >= oldest]


class DeadLinkError(Exception):
    """The link has been used, or there is nothing left to undo."""


class EmailTakenError(Exception):
    """The address belongs to another account by now."""


@transaction.atomic
def email_change_undo(token: UndoToken) -> User:
    """Restore the old address of the account, and take access from everybody else.

    Whoever changed the address knew the password, so that is removed, which also ends
    all sessions. So are second factors and providers that were added since then or
    shortly before. Older ones stay: the old mailbox may be in the wrong hands.
    """
    account = User.objects.select_for_update().filter(pk=token.account).first()
    if account is None or not can_undo(token, account):
        raise DeadLinkError
    # Mallory can sign up with the old address to block it, but cannot confirm it.
    services.account_discard_unused(token.email)
    if email_is_taken(token.email, account):
        raise EmailTakenError
    removed = account.email
    undone = (token.changed_at, timezone.now().timestamp())
    account.email_undos = [*void_times(account), undone]
    account.email = token.email
    account.set_unusable_password()
    try:
        with transaction.atomic():
            account.save(update_fields=["email_undos", "email", "password"])
            EmailAddress.objects.filter(user=account).delete()
            services.email_add(account)
    except IntegrityError:  # another account took the address after our check
        raise EmailTakenError from None
    since = token.changed - _BEFORE_THE_CHANGE
    Authenticator.objects.filter(user=account, created_at__gte=since).delete()
    if not selectors.has_second_factor(account):  # then recovery codes are needless
        Authenticator.objects.filter(user=account).delete()
    SocialAccount.objects.filter(user=account, date_joined__gte=since).delete()
    notices.email_change_undone(account, removed)
    return account


def email_is_taken(email: str, account: User) -> bool:
    users = User.objects.filter(email=email).exclude(pk=account.pk)
    confirmed = EmailAddress.objects.filter(email=email, verified=True)
    return users.exists() or confirmed.exclude(user=account).exists()
