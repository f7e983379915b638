"""Queries on second factors. Never writes."""

from typing import NamedTuple

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from readback.cabinet.models import User

# Recovery codes alone are no second factor: they exist only beside one of these.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


class SecondFactors(NamedTuple):
    """The second factors of an account."""

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
        recovery_codes_left=len(codes.data["digests"]) if codes else 0,
    )


def has_second_factor(account: User) -> bool:
    rows = Authenticator.objects.filter(user=account, type__in=FACTORS)
    return bool(rows.exists())


def used_second_factor(request: HttpRequest) -> bool:
    """Return whether this session has used a factor that its account still has."""
    if not request.user.is_authenticated:
        return False
    records = get_authentication_records(request, request.user)
    used = [record.get("id") for record in records if record["method"] == "mfa"]
    rows = Authenticator.objects.filter(user_id=request.user.pk, pk__in=used)
    return bool(used) and bool(rows.exists())
