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
from readback.cabinet.models import Key, User
from readback.cabinet.serving import security_log


def record(
    event: str,
    *,
    account: int | None = None,
    key: int | None = None,
    invitation: int | None = None,
) -> None:
    """Tell the log alone, if the change is committed."""
    write = partial(security_log.record, event, account=account, key=key)
    transaction.on_commit(partial(write, invitation=invitation))


def notify(event: str, account: User, **details: str) -> None:
    """Tell the log, and the owner by the mail that has the name of the event."""
    record(event, account=account.pk)
    _mail(event, account, details)


def key_created(key: Key, *, notify: bool) -> None:
    record("key_created", account=key.owner_id, key=key.pk)
    if notify:
        details = {"key": _describe(key), "key_id": str(key.pk)}
        _mail("key_created", key.owner, details)


def key_revoked(key: Key) -> None:
    record("key_revoked", account=key.owner_id, key=key.pk)
    _mail("key_revoked", key.owner, {"key": _describe(key)})


def key_rotated(old: Key, new: Key) -> None:
    """Report a rotation: two lines in the log, and one e-mail."""
    record("key_created", account=new.owner_id, key=new.pk)
    record("key_rotated", account=old.owner_id, key=old.pk)
    ends = _moment(old.expires_at) if old.is_active else ""
    details = {"key": _describe(old), "new_key": str(new), "ends": ends}
    _mail("key_rotated", old.owner, details | {"key_id": str(new.pk)})


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
    )


def account_leaves(account: User, ends: datetime, lifetime: timedelta) -> None:
    """Tell the owner when the account will be deactivated unless they log in."""
    record("leaver_told", account=account.pk)
    details = {"ends": _moment(ends), "provider": settings.CONFIG.oidc_name}
    to = account.email
    outbox.add(outbox.ACCOUNT_LEAVES, to, lifetime, account=account, details=details)


def email_change_undone(account: User, removed: str) -> None:
    """Send the link for a new password; tell the other mailbox that it is over."""
    record("email_change_undone", account=account.pk)
    # Without a limit: nobody must be able to use it up before the owner comes back.
    lifetime = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    outbox.add(outbox.PASSWORD_RESET, account.email, lifetime, account=account)
    _mail("email_change_undone", account, {}, to=removed)


def _describe(key: Key) -> str:
    return f"{key} ({key.name})" if key.label else str(key)


def _moment(at: datetime | None) -> str:
    """Return a time in UTC, as e-mails show it."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}" if at else ""


def _mail(name: str, owner: User, details: dict[str, str], *, to: str = "") -> None:
    # Without a mail server, e-mails are printed to the terminal. That is where users of
    # the pages look for them, but a command must print only its own output.
    if context.request is None and not settings.CONFIG.smtp_url:
        return
    adapter = get_adapter(context.request)
    adapter.send_notification_mail(
        f"account/email/{name}", owner, details, email=to or owner.email
    )
