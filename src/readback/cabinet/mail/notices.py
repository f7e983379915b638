"""Notices about changes to accounts and keys: security log and e-mail to the owner.

The services call these within the transaction of the change: the e-mail is added to the
outbox together with the change or not at all. The log gets its line after the commit.
"""

from datetime import UTC, datetime, timedelta
from functools import partial

from allauth.account.adapter import get_adapter
from allauth.core import context
from django.conf import settings
from django.db import transaction

from readback.cabinet.mail import outbox
from readback.cabinet.models import Invitation, Key, User
from readback.cabinet.serving import security_log


def key_created(key: Key, *, notify: bool) -> None:
    _record("key_created", account=key.owner_id, key=key.pk)
    if notify:
        details = {"key": _describe(key), "key_id": str(key.pk)}
        _mail("key_created", key.owner, details)


def key_revoked(key: Key) -> None:
    _record("key_revoked", account=key.owner_id, key=key.pk)
    _mail("key_revoked", key.owner, {"key": _describe(key)})


def key_rotated(old: Key, new: Key) -> None:
    """Report a rotation: two lines in the log, and one e-mail."""
    _record("key_created", account=new.owner_id, key=new.pk)
    _record("key_rotated", account=old.owner_id, key=old.pk)
    ends = _moment(old.expires_at) if old.is_active else ""
    details = {"key": _describe(old), "new_key": str(new), "ends": ends}
    details["key_id"] = str(new.pk)
    _mail("key_rotated", old.owner, details)


def key_renamed(key: Key) -> None:
    """Report a new name; only the log is told, without the name."""
    _record("key_renamed", account=key.owner_id, key=key.pk)


def key_expires(key: Key, lifetime: timedelta) -> None:
    """Remind the owner that a key in use expires; the log is not told."""
    details = {
        "key_id": str(key.pk),
        "key": _describe(key),
        "expires": _moment(key.expires_at),
        "used": _moment(key.last_used_at),
        "new_key": str(key.replaced_by or ""),
    }
    outbox.add(
        outbox.KEY_EXPIRES,
        key.owner.email,
        lifetime,
        account=key.owner,
        details=details,
        language=key.owner.language,
    )


def account_activated(account: User) -> None:
    _record("account_activated", account=account.pk)


def account_deactivated(account: User) -> None:
    _record("account_deactivated", account=account.pk)


def account_deleted(account: User, pk: int) -> None:
    """Report a deletion; `pk` is passed because a deleted object has no id."""
    _record("account_deleted", account=pk)
    _mail("account_deleted", account, {})


def email_change_undone(account: User, removed: str) -> None:
    """Send the link for a new password; tell the other mailbox that it is over."""
    _record("email_change_undone", account=account.pk)
    # Without a limit: nobody must be able to use it up before the owner comes back.
    lifetime = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    outbox.add(
        outbox.PASSWORD_RESET,
        account.email,
        lifetime,
        account=account,
        language=account.language,
    )
    _mail("email_change_undone", account, {}, to=removed)


def account_replaced(pk: int) -> None:
    """Report that a newer sign-up has replaced an account; only the log is told."""
    _record("account_replaced", account=pk)


def invitation_sent(invitation: Invitation) -> None:
    _record("invitation_sent", invitation=invitation.pk)


def invitation_withdrawn(pk: int) -> None:
    _record("invitation_withdrawn", invitation=pk)


def invitation_accepted(invitation: Invitation, account: User) -> None:
    _record("invitation_accepted", account=account.pk, invitation=invitation.pk)


def second_factor_added(account: User, factor: str, name: str = "") -> None:
    _record("second_factor_added", account=account.pk)
    _mail("second_factor_added", account, {"factor": factor, "name": name})


def second_factor_removed(account: User, factor: str, name: str = "") -> None:
    _record("second_factor_removed", account=account.pk)
    _mail("second_factor_removed", account, {"factor": factor, "name": name})


def second_factor_reset(account: User) -> None:
    """Report that an operator has removed all second factors."""
    _record("second_factor_reset", account=account.pk)
    _mail("second_factor_reset", account, {})


def recovery_codes_created(account: User) -> None:
    _record("recovery_codes_created", account=account.pk)
    _mail("recovery_codes_created", account, {})


def recovery_code_used(account: User, left: int) -> None:
    _record("recovery_code_used", account=account.pk)
    _mail("recovery_code_used", account, {"left": str(left)})


def session_ended(account: User) -> None:
    """Report that its owner has ended a session; only the log is told."""
    _record("session_ended", account=account.pk)


def other_sessions_ended(account: User) -> None:
    _record("other_sessions_ended", account=account.pk)


def account_created_by_provider(account: User) -> None:
    _record("account_created", account=account.pk)


def provider_connected(account: User, provider: str) -> None:
    """Report that a person at the provider can log in to an existing account."""
    _record("provider_connected", account=account.pk)
    _mail("provider_connected", account, {"provider": provider})


def provider_disconnected(account: User, provider: str) -> None:
    """Report that an operator has ended the connection with the provider."""
    _record("provider_disconnected", account=account.pk)
    _mail("provider_disconnected", account, {"provider": provider})


def _describe(key: Key) -> str:
    return f"{key} ({key.name})" if key.label else str(key)


def _moment(at: datetime | None) -> str:
    """Return a time in UTC, as e-mails show it."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" if at else ""


def _record(event: str, *, account: int | None = None, **ids: int) -> None:
    transaction.on_commit(partial(security_log.record, event, account=account, **ids))


def _mail(name: str, owner: User, details: dict[str, str], *, to: str = "") -> None:
    # Without a mail server, e-mails are printed to the terminal. That is where users of
    # the pages look for them, but a command must print only its own output.
    if context.request is None and not settings.CONFIG.smtp_url:
        return
    adapter = get_adapter(context.request)
    adapter.send_notification_mail(
        f"account/email/{name}", owner, details, email=to or owner.email
    )
