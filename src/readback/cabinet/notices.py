"""Notices about changes to accounts and keys: security log and e-mail to the owner.

The services call these after the change is committed. An e-mail that cannot be sent is
logged; the change stays.
"""

from allauth.account.adapter import get_adapter
from allauth.core import context
from django.conf import settings

from readback.cabinet import security_log
from readback.cabinet.models import Key, User


def key_created(key: Key) -> None:
    security_log.record("key_created", account=key.owner_id, key=key.pk)
    _mail("key_created", key.owner, {"key": _describe(key)})


def key_revoked(key: Key) -> None:
    security_log.record("key_revoked", account=key.owner_id, key=key.pk)
    _mail("key_revoked", key.owner, {"key": _describe(key)})


def account_activated(account: User) -> None:
    security_log.record("account_activated", account=account.pk)


def account_deactivated(account: User) -> None:
    security_log.record("account_deactivated", account=account.pk)


def account_deleted(account: User, pk: int) -> None:
    """Report a deletion; `pk` is passed because a deleted object has no id."""
    security_log.record("account_deleted", account=pk)
    _mail("account_deleted", account, {})


def _describe(key: Key) -> str:
    return f"{key} ({key.label})" if key.label else str(key)


def _mail(name: str, owner: User, extra: dict[str, object]) -> None:
    # Without a mail server, e-mails are printed to the terminal. That is where users of
    # the pages look for them, but a command must print only its own output.
    if context.request is None and not settings.CONFIG.smtp_url:
        return
    adapter = get_adapter(context.request)
    adapter.send_notification_mail(
        f"account/email/{name}", owner, extra, email=owner.email
    )
