"""The security log: one line of JSON for each event relevant to security.

A line contains ids, of the account and the key, and the client's network address.
It never contains an e-mail address, a label, a password, a link or a key: what people
type into the wrong field must not end up here.
"""

import json
import logging
import sys
from functools import partial
from typing import Any

from allauth.account import signals
from allauth.core import context
from allauth.mfa.signals import authenticator_used
from django.contrib.auth.signals import user_logged_out, user_login_failed
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from readback.cabinet.accounts import selectors
from readback.cabinet.models import User
from readback.cabinet.serving import clients

_log = logging.getLogger("readback.security")


def record(
    event: str,
    *,
    account: int | None,
    key: int | None = None,
    invitation: int | None = None,
) -> None:
    """Write one line; the actor and the network address come from the request."""
    request: HttpRequest | None = context.request
    line = {
        "time": timezone.now().isoformat(timespec="milliseconds"),
        "event": event,
        "account": account,
        "key": key,
        "by": _actor(request),
        "ip": clients.address(request) if request else None,
    }
    if invitation is not None:
        line["invitation"] = invitation
    # JSON escapes line breaks, so no value can forge a second line.
    _log.info(json.dumps(line))


def write_to_stderr() -> None:
    """Enable the log; only a server does, so that commands write no log lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    _log.addHandler(handler)


def _actor(request: HttpRequest | None) -> int | None:
    """Return the account that is logged in, or None if none is or it is a command."""
    user = getattr(request, "user", None)
    return user.pk if user is not None else None


# Events that allauth and Django signal; `notices.py` records the others.


@receiver(signals.user_signed_up)
def _signed_up(user: User, **_: Any) -> None:
    # A sign-up is one transaction, which can still fail.
    transaction.on_commit(partial(record, "account_created", account=user.pk))


@receiver(signals.user_logged_in)
def _logged_in(user: User, **details: Any) -> None:
    event = "login_by_provider" if "sociallogin" in details else "login"
    record(event, account=user.pk)


@receiver(user_login_failed)
def _login_failed(credentials: dict[str, Any], **_: Any) -> None:
    # The query runs for known and unknown addresses, so both take the same time.
    account = selectors.account_find(credentials.get("email", ""))
    record("login_failed", account=account.pk if account else None)


@receiver(user_logged_out)
def _logged_out(user: User | None, **_: Any) -> None:
    record("logout", account=user.pk if user else None)


@receiver(signals.password_changed)
@receiver(signals.password_set)
def _password_changed(user: User, **_: Any) -> None:
    record("password_changed", account=user.pk)


@receiver(signals.password_reset)
def _password_reset(user: User, **_: Any) -> None:
    record("password_reset", account=user.pk)


@receiver(signals.email_confirmed)
def _email_confirmed(email_address: Any, **_: Any) -> None:
    record("email_confirmed", account=email_address.user_id)


@receiver(signals.email_changed)
def _email_changed(user: User, from_email_address: Any, **_: Any) -> None:
    # The first address of an account is not a change.
    if from_email_address is not None:
        record("email_changed", account=user.pk)


@receiver(authenticator_used)
def _second_factor_used(user: User, **_: Any) -> None:
    record("second_factor_used", account=user.pk)
