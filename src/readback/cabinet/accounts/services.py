"""All changes to accounts, as functions `<entity>_<action>`.

Pages, the admin and the command line change data only through these.
"""

from datetime import timedelta

from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from readback.cabinet import account_rules
from readback.cabinet.accounts import selectors, sessions
from readback.cabinet.mail import notices, outbox, rendering
from readback.cabinet.models import LABEL_LENGTH, AuditEntry, CacheEntry, Key, User

# Invisible characters that are allowed: many emoji and Persian words contain them.
_JOINERS = {ord("\N{ZERO WIDTH NON-JOINER}"): "", ord("\N{ZERO WIDTH JOINER}"): ""}


class ServiceError(Exception):
    """The service cannot do its work; the message tells the user why."""


def account_create(
    email: str,
    password: str | None = None,
    *,
    confirmed: bool = False,
    any_domain: bool = False,
    language: str = "",
) -> User:
    """Create an account; `confirmed` marks its address as confirmed.

    Without a password, no one can log in until one is set. Only the server uses
    `any_domain`, for its own account on the local machine.
    """
    try:
        email = account_rules.normalise(email)
        if not any_domain:
            account_rules.validate_domain(email)
        account = User(email=email, language=language)
        account.clean_fields(exclude={"password"})
        if password is not None:
            validate_password(password, account)
    except ValidationError as error:
        raise ServiceError(" ".join(error.messages)) from None
    account.set_password(password)
    try:
        with transaction.atomic():
            account.save()
            EmailAddress.objects.create(
                user=account, email=email, primary=True, verified=confirmed
            )
    except IntegrityError:
        raise ServiceError(_("An account with this address already exists.")) from None
    return account


@transaction.atomic
def account_invite(email: str, *, by: str = "", mail: bool = True) -> User:
    """Create an account without a password, and e-mail an invitation.

    An account with this address that was never confirmed or used is replaced, because
    someone else may know its password.
    """
    account_discard_unused(selectors.stored_form(email))
    account = account_create(email, confirmed=True)
    notices.record("account_invited", account=account.pk)
    if mail and not outbox.allow_notice(context.request, account.email):
        raise ServiceError(
            _("Too many e-mails went to this address. Try again in an hour.")
        )
    if mail:  # the e-mail uses the language of the operator's page
        if account_rules.provider_is_only_way():
            link = rendering.absolute_url("account_login")
            days = ""
        else:
            link = selectors.invitation_link(account)
            days = str(selectors.INVITATION_DAYS)
        outbox.add(
            "account/email/invitation",
            account.email,
            outbox.NOTICE_LIFETIME,
            account=account,
            details={"by": by, "days": days},
            link=link,
        )
    return account


@transaction.atomic
def account_confirm(account: User) -> None:
    """Confirm the account's address without the link in the e-mail."""
    account = account_lock(account)
    address, _created = EmailAddress.objects.get_or_create(
        user=account, email=account.email
    )
    if not address.set_verified():
        raise ServiceError(_("This address is confirmed for another account."))
    address.set_as_primary()


@transaction.atomic
def account_activate(account: User) -> None:
    account.is_active = True
    account.save(update_fields=["is_active"])
    notices.record("account_activated", account=account.pk)


@transaction.atomic
def account_deactivate(account: User) -> None:
    """Deactivate the account: no one can log in, and its keys stop working."""
    _check_operator_left(account)
    account.is_active = False
    account.save(update_fields=["is_active"])
    sessions.sessions_end(account)
    notices.record("account_deactivated", account=account.pk)


def _check_operator_left(account: User) -> None:
    """Raise `ServiceError` if the account belongs to the only active operator."""
    able = User.objects.filter(is_active=True, is_staff=True)
    # Locked, so that two operators cannot deactivate each other at the same time.
    operators = list(able.select_for_update().order_by("pk"))
    if [each.pk for each in operators] == [account.pk]:
        raise ServiceError(
            _("This is the last operator. Make another account an operator first.")
        )


@transaction.atomic
def account_set_operator(account: User, is_operator: bool) -> None:
    """Grant or revoke operator rights.

    Only commands do this, so the audit trail names the account itself as the operator.
    """
    if account.is_staff == is_operator:
        return
    if is_operator:
        event = "operator_added"
        change = gettext_noop("Made an operator by a command")
    else:
        _check_operator_left(account)
        event = "operator_removed"
        change = gettext_noop("No longer an operator, by a command")
    account.is_staff = is_operator
    account.save(update_fields=["is_staff"])
    audit_record(account, account, change)
    notices.record(event, account=account.pk)


def audit_record(by: User, row: User | Key, change: str) -> None:
    """Record in the audit trail what an operator did, in English."""
    AuditEntry.objects.create(
        by=by.email,
        by_id=by.pk,
        object_type="account" if isinstance(row, User) else "key",
        object_id=row.pk,
        object_name=str(row),
        change=change,
    )


@transaction.atomic
def account_delete(account: User) -> None:
    account_lock(account)
    _check_operator_left(account)
    # The API adds usage and journal rows at any time. They reference their key, so
    # none can be added while the keys are locked. The order prevents deadlocks.
    locked_keys = Key.objects.select_for_update().filter(owner=account).order_by("pk")
    list(locked_keys.values_list("pk"))
    notices.notify("account_deleted", account)
    account.delete()


@transaction.atomic
def account_discard_unused(email: str) -> bool:
    """Delete an account that was never confirmed or used; return whether it existed.

    A new sign-up with its address then starts afresh. Links from the earlier sign-up
    stop working, so that a link confirms only the password of its own sign-up.
    Otherwise, Mallory could sign up with Alice's address and wait until Alice does the
    same and confirms it.
    """
    account = User.objects.select_for_update().filter(email=email).first()
    if account is None:
        return False
    # Lock its addresses, so that no one can confirm one during the deletion.
    list(EmailAddress.objects.select_for_update().filter(user=account))
    if not selectors.account_is_unused(account):
        return False
    notices.record("account_replaced", account=account.pk)
    account.delete()
    return True


def expired_delete() -> None:
    now = timezone.now()
    Session.objects.filter(expire_date__lt=now).delete()
    # Plus an hour, because `last_seen_at` is updated only from time to time.
    lifetime = timedelta(seconds=settings.SESSION_COOKIE_AGE, hours=1)
    UserSession.objects.filter(last_seen_at__lt=now - lifetime).delete()
    CacheEntry.objects.filter(expires__lt=now).delete()


def account_lock(account: User) -> User:
    """Lock the account's row until the transaction ends, and return the account."""
    try:
        return User.objects.select_for_update().get(pk=account.pk)
    except User.DoesNotExist:
        raise ServiceError(_("The account no longer exists.")) from None


def checked_name(name: str) -> str:
    """Return the name for a key or passkey, or "" if it has no visible characters."""
    name = name.strip()
    visible = name.translate(_JOINERS).strip()
    if not visible:
        return ""
    if len(name) > LABEL_LENGTH:
        raise ServiceError(
            _("A name can have at most %(limit)d characters.") % {"limit": LABEL_LENGTH}
        )
    if not visible.isprintable():
        raise ServiceError(_("A name cannot contain control characters."))
    return name
