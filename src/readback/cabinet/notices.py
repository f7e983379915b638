"""Notices about changes to accounts and keys: security log and e-mail to the owner.

The services call these within the transaction of the change: the e-mail is added to the
outbox together with the change or not at all. The log gets its line after the commit.
"""

from functools import partial

from allauth.account.adapter import get_adapter
from allauth.core import context
from django.conf import settings
from django.db import transaction

from readback.cabinet import security_log
from readback.cabinet.models import Key, User


def key_created(key: Key, *, notify: bool) -> None:
    _record("key_created", account=key.owner_id, key=key.pk)
    if notify:
        _mail("key_created", key.owner, {"key": _describe(key)})


def key_revoked(key: Key) -> None:
    _record("key_revoked", account=key.owner_id, key=key.pk)
    _mail("key_revoked", key.owner, {"key": _describe(key)})


def account_activated(account: User) -> None:
    _record("account_activated", account=account.pk)


def account_deactivated(account: User) -> None:
    _record("account_deactivated", account=account.pk)


def account_deleted(account: User, pk: int) -> None:
    """Report a deletion; `pk` is passed because a deleted object has no id."""
    _record("account_deleted", account=pk)
    _mail("account_deleted", account, {})


def account_replaced(pk: int) -> None:
    """Report that a newer sign-up has replaced an account; only the log is told."""
    _record("account_replaced", account=pk)


def account_created_by_provider(account: User) -> None:
    _record("account_created", account=account.pk)


def provider_connected(account: User, provider: str) -> None:
    """Report that a person at the provider can log in to an existing account."""
    _record("provider_connected", account=account.pk)
    _mail("provider_connected", account, {"provider": provider})


def _describe(key: Key) -> str:
    return f"{key} ({key.label})" if key.label else str(key)


def _record(event: str, *, account: int, key: int | None = None) -> None:
    transaction.on_commit(partial(security_log.record, event, account=account, key=key))


def _mail(name: str, owner: User, details: dict[str, str]) -> None:
    # Without a mail server, e-mails are printed to the terminal. That is where users of
    # the pages look for them, but a command must print only its own output.
    if context.request is None and not settings.CONFIG.smtp_url:
        return
    adapter = get_adapter(context.request)
    adapter.send_notification_mail(
        f"account/email/{name}", owner, details, email=owner.email
    )
