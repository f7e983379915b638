"""People who leave: logouts that the provider reports, and leavers.

A *leaver* has not logged in with the provider for a long time. They are told a week
before, then deactivated, which stops their keys. The sender of each worker calls `work`
from time to time. A notice is claimed by `leave_notice_at`, in the transaction that
adds its mail, so any number of cabinets send it once.

Nobody is deactivated without a notice that is a week old, whatever last logins say: not
when the setting is turned on, and not after a clock was wrong. A notice that is much
older does not count: it is from before a restored backup or a long downtime.

Back-channel logout, by OpenID Connect Back-Channel Logout 1.0, ends sessions at once.
Anybody can send such a request, so a token is refused before anything asks the
database, and keys of the provider are read again at most once in some seconds. The
provider learns which check failed; nothing is logged.
"""

import time
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from readback.cabinet.account_rules import provider_name
from readback.cabinet.accounts import services, sessions
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.mail import notices
from readback.cabinet.models import User
from readback.cabinet.single_sign_on.services import LEEWAY_SECONDS

NOTICE = timedelta(days=7)
# After this time a notice is given again.
NOTICE_COUNTS = timedelta(days=14)
# Accounts that one call tells, and that it deactivates.
BATCH = 100
_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_TYPES = (None, "jwt", "logout+jwt", "application/logout+jwt")
_MAX_TOKEN_LENGTH = 8192
_MAX_NAME_LENGTH = 255
# For as long a token counts after it was issued, so for as long its id is remembered.
_MAX_AGE_SECONDS = 600


def work() -> bool:
    """Tell and deactivate accounts that are due; return whether there may be more."""
    if not settings.CONFIG.oidc_leave_days:
        return False
    now = timezone.now()
    # Another cabinet may have given it since, or have a clock that is slightly ahead.
    future = Q(leave_notice_at__gt=now + timedelta(seconds=LEEWAY_SECONDS))
    void = Q(leave_notice_at__lte=now - NOTICE_COUNTS) | future
    without_notice = _absent(now, NOTICE).filter(Q(leave_notice_at=None) | void)
    told = list(without_notice[:BATCH])
    for account in told:
        _tell(account, now)
    leaving = list(_due(now)[:BATCH])
    deactivated = [_deactivate(account, now) for account in leaving]
    return len(told) == BATCH or (len(leaving) == BATCH and any(deactivated))


def account_returned(account: User) -> None:
    """Forget the notice, because the person has logged in with the provider."""
    User.objects.filter(pk=account.pk).update(leave_notice_at=None)


def waiting() -> QuerySet[User]:
    return User.objects.filter(is_active=True, leave_notice_at__isnull=False)


def left() -> QuerySet[User]:
    """Return the accounts that were deactivated; activating one removes it here."""
    return User.objects.filter(is_active=False, leave_notice_at__isnull=False)


def _absent(now: datetime, notice: timedelta) -> QuerySet[User]:
    """Return accounts that will not have logged in for long when `notice` is over."""
    people = SocialAccount.objects.filter(
        user=OuterRef("pk"), provider=settings.CONFIG.oidc_issuer
    )
    since = now + notice - timedelta(days=settings.CONFIG.oidc_leave_days)
    connected = User.objects.filter(Exists(people), is_active=True).order_by("pk")
    return connected.exclude(Exists(people.filter(last_login__gt=since)))


def _due(now: datetime) -> QuerySet[User]:
    valid = Q(
        leave_notice_at__gt=now - NOTICE_COUNTS, leave_notice_at__lte=now - NOTICE
    )
    return _absent(now, timedelta()).filter(valid)


@transaction.atomic
def _tell(account: User, now: datetime) -> None:
    unchanged = User.objects.filter(
        pk=account.pk, leave_notice_at=account.leave_notice_at, is_active=True
    )
    if unchanged.update(leave_notice_at=now):
        notices.account_leaves(account, now + NOTICE, NOTICE)


@transaction.atomic
def _deactivate(account: User, now: datetime) -> bool:
    """Deactivate the account, unless its person has come back in the meantime."""
    account = services.account_lock(account)
    if not _due(now).filter(pk=account.pk).exists():
        return False
    try:
        services.account_deactivate(account)
    except ServiceError:  # the last operator
        return False
    notices.record("leaver_deactivated", account=account.pk)
    return True


class InvalidTokenError(Exception):
    """The text says which check failed, without anything of the token."""


@csrf_exempt
@require_POST
@never_cache
def backchannel_logout(request: HttpRequest) -> HttpResponse:
    """End the sessions that the token is about; answer as section 2.8 says."""
    if not provider_name():
        raise Http404
    try:
        ended = end_sessions(_read(request.POST.get("logout_token", "")))
    except InvalidTokenError as error:
        problem = {"error": "invalid_request", "error_description": str(error)}
        return JsonResponse(problem, status=HTTPStatus.BAD_REQUEST)
    return HttpResponse(f"{ended} sessions ended\n", "text/plain")


def _read(token: str) -> dict[str, Any]:
    """Return the claims of a token that passes all checks of section 2.6.

    Whose sessions have ended is in `sub`, and which of them in `sid`; one may be empty.
    """
    if not 0 < len(token) <= _MAX_TOKEN_LENGTH:
        raise InvalidTokenError("logout_token is missing or too long")
    # These libraries take 14 MB of memory.
    import jwt

    from readback.cabinet.single_sign_on.openid_connect import verified_claims
    from readback.cabinet.single_sign_on.provider_documents import ProviderError

    config = settings.CONFIG
    try:
        # An access token or an ID token must never count as a logout token.
        kind = jwt.get_unverified_header(token).get("typ")
        if (kind.lower() if isinstance(kind, str) else kind) not in _TYPES:
            raise InvalidTokenError("typ")
        claims = verified_claims(
            token, config.oidc_issuer, config.oidc_client_id, ["jti"]
        )
    except jwt.PyJWTError as error:
        raise InvalidTokenError(type(error).__name__) from None
    except ProviderError as error:
        raise InvalidTokenError(str(error)) from None
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(_EVENT), dict):
        raise InvalidTokenError("events")
    if "nonce" in claims:
        raise InvalidTokenError("nonce")
    issued = claims["iat"]
    is_number = isinstance(issued, int | float) and not isinstance(issued, bool)
    if not is_number or time.time() - issued > _MAX_AGE_SECONDS:
        raise InvalidTokenError("iat")
    for name in ("jti", "sub", "sid"):
        value = claims.setdefault(name, "")
        if not isinstance(value, str) or len(value) > _MAX_NAME_LENGTH:
            raise InvalidTokenError(name)
    if not claims["jti"] or not (claims["sub"] or claims["sid"]):
        raise InvalidTokenError("jti, sub or sid")
    return claims


@transaction.atomic
def end_sessions(claims: dict[str, Any]) -> int:
    """End the sessions, once for each token; return how many there were.

    Only those that had begun when the token was issued: a token that is sent again,
    after its id is forgotten, does not end a later login.
    """
    name = f"logout-{sessions.provider_session(claims['jti'])}"
    # Rolled back with the rest, so that the provider can send the token again.
    if not cache.add(name, True, 2 * _MAX_AGE_SECONDS):
        raise InvalidTokenError("jti was used before")
    issued = datetime.fromtimestamp(claims["iat"] + LEEWAY_SECONDS, UTC)
    rows = UserSession.objects.filter(created_at__lt=issued)
    if claims["sub"]:
        people = SocialAccount.objects.filter(provider=settings.CONFIG.oidc_issuer)
        rows = rows.filter(user__in=people.filter(uid=claims["sub"]).values("user"))
    if claims["sid"]:
        rows = rows.filter(data__sid=sessions.provider_session(claims["sid"]))
    accounts = set(rows.values_list("user", flat=True))
    for account in accounts:
        notices.record("logout_by_provider", account=account)
    return sessions.sessions_end_rows(rows)
