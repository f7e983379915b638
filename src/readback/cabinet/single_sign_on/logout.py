"""Back-channel logout: the provider tells us that a person's session has ended there.

By OpenID Connect Back-Channel Logout 1.0. Anybody can send such a request, so a token
is refused before anything asks the database, and keys of the provider are read again at
most once in some seconds. The provider learns which check failed; nothing is logged.
"""

import time
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from readback.cabinet.account_rules import provider_name
from readback.cabinet.accounts import sessions
from readback.cabinet.mail import notices
from readback.cabinet.single_sign_on.services import LEEWAY_SECONDS

_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_TYPES = (None, "jwt", "logout+jwt", "application/logout+jwt")
_MAX_TOKEN_LENGTH = 8192
_MAX_NAME_LENGTH = 255
# For as long a token counts after it was issued, so for as long its id is remembered.
_MAX_AGE_SECONDS = 600


class LogoutToken(NamedTuple):
    """Whose sessions have ended, and which: all, or those of one at the provider."""

    id: str
    issued_at: float
    subject: str
    session: str


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


def _read(token: str) -> LogoutToken:
    """Return what a token says that passes all checks of section 2.6."""
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
    found = LogoutToken(
        _name(claims, "jti"), issued, _name(claims, "sub"), _name(claims, "sid")
    )
    if not found.id or not (found.subject or found.session):
        raise InvalidTokenError("jti, sub or sid")
    return found


def _name(claims: dict[str, Any], claim: str) -> str:
    value = claims.get(claim, "")
    if not isinstance(value, str) or len(value) > _MAX_NAME_LENGTH:
        raise InvalidTokenError(claim)
    return value


@transaction.atomic
def end_sessions(token: LogoutToken) -> int:
    """End the sessions, once for each token; return how many there were.

    Only those that had begun when the token was issued: a token that is sent again,
    after its id is forgotten, does not end a later login.
    """
    name = f"logout-{sessions.provider_session(token.id)}"
    # Rolled back with the rest, so that the provider can send the token again.
    if not cache.add(name, True, 2 * _MAX_AGE_SECONDS):
        raise InvalidTokenError("jti was used before")
    issued = datetime.fromtimestamp(token.issued_at + LEEWAY_SECONDS, UTC)
    rows = UserSession.objects.filter(created_at__lt=issued)
    if token.subject:
        people = SocialAccount.objects.filter(provider=settings.CONFIG.oidc_issuer)
        rows = rows.filter(user__in=people.filter(uid=token.subject).values("user"))
    if token.session:
        rows = rows.filter(data__sid=sessions.provider_session(token.session))
    accounts = set(rows.values_list("user", flat=True))
    for account in accounts:
        notices.record("logout_by_provider", account=account)
    return sessions.sessions_end_rows(rows)
