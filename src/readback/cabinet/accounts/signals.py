"""Handlers of allauth's and Django's signals, for the security log and sessions.

All other events are logged by the code that causes them.
"""

from typing import Any

from allauth.account import signals
from allauth.account.internal.flows.login import record_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import (
    authentication_failed,
    authenticator_added,
    authenticator_removed,
    authenticator_reset,
    authenticator_used,
)
from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.translation import get_language

from readback.cabinet.accounts import selectors, sessions
from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.cabinet.serving import security_log


@receiver(signals.user_signed_up)
def _signed_up(user: User, **_: Any) -> None:
    # Logged after the commit, because the sign-up's transaction can still fail.
    notices.record("account_created", account=user.pk)


@receiver(signals.user_logged_in)
def _logged_in(user: User, **details: Any) -> None:
    sessions.sessions_end_surplus(user)
    user.language = get_language() or ""
    user.save(update_fields=["language"])
    event = "login_by_provider" if "sociallogin" in details else "login"
    security_log.record(event, account=user.pk)


@receiver(user_login_failed)
def _login_failed(credentials: dict[str, Any], **_: Any) -> None:
    # The query runs for unknown addresses, too, so that both take the same time.
    account = selectors.account_find(credentials.get("email", ""))
    security_log.record("login_failed", account=account.pk if account else None)


@receiver(user_logged_out)
def _logged_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    security_log.record("logout", account=user.pk if user else None)
    key = request.session.session_key
    UserSession.objects.filter(user=user, session_key=key).delete()


@receiver(signals.password_changed)
@receiver(signals.password_set)
def _password_changed(request: HttpRequest, user: User, **_: Any) -> None:
    security_log.record("password_changed", account=user.pk)
    # Django rejects the other sessions, but they would still be listed.
    sessions.sessions_end(user, request.session.session_key)


@receiver(signals.password_reset)
def _password_reset(user: User, **_: Any) -> None:
    security_log.record("password_reset", account=user.pk)
    sessions.sessions_end(user)


@receiver(signals.email_confirmed)
def _email_confirmed(email_address: Any, **_: Any) -> None:
    security_log.record("email_confirmed", account=email_address.user_id)


@receiver(signals.email_changed)
def _email_changed(user: User, from_email_address: Any, **_: Any) -> None:
    # The first address of an account is not a change.
    if from_email_address is not None:
        security_log.record("email_changed", account=user.pk)


@receiver(authenticator_added)
@receiver(authenticator_removed)
@receiver(authenticator_reset)
def _second_factor_changed(
    signal: Any, request: HttpRequest, user: User, authenticator: Any, **_: Any
) -> None:
    codes = authenticator.type == Authenticator.Type.RECOVERY_CODES
    if signal is authenticator_reset:
        security_log.record("recovery_codes_created", account=user.pk)
    elif not codes and signal is authenticator_removed:
        security_log.record("second_factor_removed", account=user.pk)
    elif not codes:
        security_log.record("second_factor_added", account=user.pk)
        # The browser has just proved that it has the factor.
        record_authentication(
            request, user, "mfa", id=authenticator.pk, type=authenticator.type
        )


@receiver(authenticator_used)
def _second_factor_used(user: User, authenticator: Any, **_: Any) -> None:
    security_log.record("second_factor_used", account=user.pk)
    if authenticator.type == Authenticator.Type.RECOVERY_CODES:
        authenticator.refresh_from_db(fields=["data"])
        left = len(authenticator.wrap().get_unused_codes())
        notices.notify("recovery_code_used", user, left=str(left))


@receiver(authentication_failed)
def _second_factor_failed(user: User, **_: Any) -> None:
    security_log.record("second_factor_failed", account=user.pk)
