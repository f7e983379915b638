"""Queries on accounts, their addresses and second factors. Nothing here writes."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from allauth.account.authentication import get_authentication_records
from allauth.account.forms import (
    EmailAwarePasswordResetTokenGenerator as PasswordTokens,
)
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from readback.cabinet.account_rules import normalise
from readback.cabinet.mail import rendering
from readback.cabinet.models import AuditEntry, Key, User, key_is_active

# Recovery codes exist only in addition to one of these.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
INVITATION_DAYS = 7


def account_find(email: str) -> User | None:
    return User.objects.filter(email=stored_form(email)).first()


def stored_form(email: str) -> str:
    """Return an address in the stored form, or an empty string if it is invalid."""
    try:
        return normalise(email)
    except ValidationError:
        return ""


def account_is_confirmed(account: User) -> bool:
    return User.objects.filter(confirmed(), pk=account.pk).exists()


def account_is_unused(account: User) -> bool:
    """Return whether a new sign-up with its address may replace the account.

    Its address was never confirmed, no one has logged in or created a key, and no
    operator has deactivated it or made its owner an operator.
    """
    if not account.is_active or account.is_staff:
        return False
    confirmed = EmailAddress.objects.filter(user=account, verified=True)
    is_used = account.last_login or account.keys.exists() or confirmed.exists()
    return not is_used


def confirmed() -> Q:
    """Return the query condition for `account_is_confirmed`."""
    addresses = EmailAddress.objects.filter(user=OuterRef("pk"))
    return Q(Exists(addresses.filter(primary=True, verified=True)))


def accounts_with_state() -> QuerySet[User]:
    active = Key.objects.filter(key_is_active(), owner=OuterRef("pk"))
    counted = active.values("owner").annotate(keys=Count("pk")).values("keys")
    return User.objects.annotate(
        is_confirmed=confirmed(),
        key_count=Coalesce(Subquery(counted), 0),
    )


def account_is_connected(account: User) -> bool:
    issuer = settings.CONFIG.oidc_issuer
    return SocialAccount.objects.filter(user=account, provider=issuer).exists()


def audit_entries(account: User) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(
        Q(object_type="account", object_id=account.pk)
        | Q(object_type="key", object_id__in=account.keys.values("pk"))
    )


class SecondFactors(NamedTuple):
    app: Authenticator | None
    passkeys: list[Authenticator]
    recovery_codes_left: int

    @property
    def is_on(self) -> bool:
        return self.app is not None or bool(self.passkeys)


def second_factors_of(account: User | AnonymousUser) -> SecondFactors:
    rows = list(Authenticator.objects.filter(user_id=account.pk).order_by("pk"))
    by_kind = {row.type: row for row in rows}
    codes = by_kind.get(Authenticator.Type.RECOVERY_CODES)
    return SecondFactors(
        app=by_kind.get(Authenticator.Type.TOTP),
        passkeys=[row for row in rows if row.type == Authenticator.Type.WEBAUTHN],
        recovery_codes_left=len(codes.wrap().get_unused_codes()) if codes else 0,
    )


def used_provider(request: HttpRequest, user: Any) -> bool:
    records = get_authentication_records(request, user)
    return any(record["method"] == "socialaccount" for record in records)


def used_second_factor(request: HttpRequest) -> bool:
    """Return whether this session has used a factor that its account still has."""
    if not request.user.is_authenticated:
        return False
    records = get_authentication_records(request, request.user)
    used = [record.get("id") for record in records if record["method"] == "mfa"]
    rows = Authenticator.objects.filter(user_id=request.user.pk, pk__in=used)
    return bool(used) and bool(rows.exists())


def password_reset_link(account: User) -> str:
    """Return a link to set a password, which works once, within an hour."""
    return _link_with(PasswordTokens(), account)


def invitation_link(account: User) -> str:
    """Return a link to set the first password, which works once, within a week."""
    return _link_with(_InvitationTokens(), account)


class _InvitationTokens(PasswordTokens):
    """Create tokens with a future date, which pass the usual check for a week."""

    def _now(self) -> datetime:
        reset = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
        return super()._now() + timedelta(days=INVITATION_DAYS) - reset


def _link_with(tokens: PasswordTokens, account: User) -> str:
    token = tokens.make_token(account)
    view = "account_reset_password_from_key"
    pk = user_pk_to_url_str(account)
    return rendering.absolute_url(view, uidb36=pk, key=token)
