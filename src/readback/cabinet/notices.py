"""Tells what happened to an account or a key: the security log always, and the
owner by mail.

Called by the services when the change is certain. A mail that cannot be sent is
logged and undoes nothing.
"""

from allauth.account.adapter import get_adapter
from allauth.core import context
from django.conf import settings

from readback.cabinet import security_log
from readback.cabinet.models import Key, User


def key_created(key: Key) -> None:
    security_log.record("key_created", account=key.owner_id, key=key.pk)
    _mail("key_created", key.owner, {"key": _named(key)})


def key_revoked(key: Key) -> None:
    security_log.record("key_revoked", account=key.owner_id, key=key.pk)
    _mail("key_revoked", key.owner, {"key": _named(key)})


def account_activated(account: User) -> None:
    security_log.record("account_activated", account=account.pk)


def account_deactivated(account: User) -> None:
    security_log.record("account_deactivated", account=account.pk)


def account_deleted(account: User, pk: int) -> None:
    """Take the id apart: a deleted row has none any more."""
    security_log.record("account_deleted", account=pk)
    _mail("account_deleted", account, {})


def _named(key: Key) -> str:
    return f"{key} ({key.label})" if key.label else str(key)


def _mail(name: str, owner: User, facts: dict[str, object]) -> None:
    # Without a mail server, mails are printed. A page's reader looks for them in the
    # terminal of the server; a command's output belongs to whoever typed it.
    if context.request is None and not settings.CONFIG.smtp_url:
        return
    adapter = get_adapter(context.request)
    adapter.send_notification_mail(
        f"account/email/{name}", owner, facts, email=owner.email
    )
