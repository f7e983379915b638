"""Changes to the e-mail address of an account that allauth has no page for."""

from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from allauth.mfa.base.internal.flows import delete_dangling_recovery_codes
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from readback.cabinet.accounts import email_undo, services
from readback.cabinet.accounts.email_undo import UndoToken
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.mail import notices
from readback.cabinet.models import User

# Whoever takes an account over may add a way to log in first, and then change the
# address. Its owner gets a notice about that at once, and has this long to act on it.
_BEFORE_THE_CHANGE = timedelta(days=1)


class DeadLinkError(ServiceError):
    """The link has been used, or there is nothing left to undo."""


class EmailTakenError(ServiceError):
    """The address belongs to another account by now."""


def email_change_undo(token: UndoToken) -> User:
    """Give the account its old address back, and nobody else access to it.

    Whoever changed the address knew the password, so that is removed, which also ends
    all sessions. So are second factors and providers that were added since then or
    shortly before. Those that are older stay: they protect the account if the change
    was right, and it is the old mailbox that is in the wrong hands. Keys stay, too:
    programs use them, and a revoked key cannot be brought back.
    """
    try:
        with transaction.atomic():
            return _undo(token)
    except IntegrityError:  # another account took the address after our check
        raise _taken() from None


def _undo(token: UndoToken) -> User:
    account = User.objects.select_for_update().filter(pk=token.account).first()
    if account is None or not email_undo.is_usable(token, account):
        raise DeadLinkError(_("This link no longer works"))
    # Mallory can sign up with the old address to block it, but cannot confirm it.
    services.account_discard_unused(token.email)
    if email_is_taken(token.email, account):
        raise _taken()
    removed = account.email
    _set_only_email(account, token)
    _remove_ways_in(account, token.changed - _BEFORE_THE_CHANGE)
    notices.email_change_undone(account, removed)
    return account


def email_is_taken(email: str, account: User) -> bool:
    """Return whether another account has the address, confirmed or not."""
    users = User.objects.filter(email=email).exclude(pk=account.pk)
    confirmed = EmailAddress.objects.filter(email=email, verified=True)
    return users.exists() or confirmed.exclude(user=account).exists()


def _set_only_email(account: User, token: UndoToken) -> None:
    undone = (token.changed_at, timezone.now().timestamp())
    account.email_undos = [*email_undo.void_times(account), undone]
    account.email = token.email
    account.set_unusable_password()
    account.save(update_fields=["email_undos", "email", "password"])
    EmailAddress.objects.filter(user=account).delete()
    EmailAddress.objects.create(
        user=account, email=token.email, primary=True, verified=True
    )


def _remove_ways_in(account: User, since: datetime) -> None:
    Authenticator.objects.filter(user=account, created_at__gte=since).delete()
    delete_dangling_recovery_codes(account)
    SocialAccount.objects.filter(user=account, date_joined__gte=since).delete()


def _taken() -> EmailTakenError:
    return EmailTakenError(_("This address belongs to another account now."))
