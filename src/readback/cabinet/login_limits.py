"""Limits on wrong passwords that stop strangers and never the owner.

Strangers are counted per account and network address together, and all of them per
account. A browser in which somebody has logged in to the account before is counted by
itself: it gets in, however many strangers try. It is known by a cookie, a random number
with one tag per account. The numbers are in the settings.
"""

import secrets

from allauth.core.internal import ratelimit
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

_APP = "allauth.account"
COOKIE_DAYS = 365
# A cookie has the tags of the accounts that were used last.
_MAX_ACCOUNTS = 5
_SEPARATOR = "."


def consume(request: HttpRequest, email: str) -> ratelimit.RateLimitUsage | None:
    """Count an attempt; return what undoes the count, or None above a limit."""
    browser = _known_browser(request, email)
    if browser:
        counts = [("login_failed_known", f"{browser} {email}")]
    else:
        stranger = f"{ratelimit.get_ip(request)} {email}"
        counts = [("login_failed", stranger), ("login_failed_account", email)]
    total = ratelimit.RateLimitUsage(usage=[])
    for action, key in counts:
        usage = ratelimit.consume(request, app=_APP, action=action, key=key)
        if usage is None:
            return None
        total.usage += usage.usage
    return total


def clear(request: HttpRequest, email: str) -> None:
    """Forget the attempts on an account, and those of this visitor on it."""
    stranger = f"{ratelimit.get_ip(request)} {email}"
    for action, key in (("login_failed", stranger), ("login_failed_account", email)):
        ratelimit.clear(request, app=_APP, action=action, key=key)


def remember_browser(request: HttpRequest, response: HttpResponse, email: str) -> None:
    """Set the cookie by which this browser is known for the account."""
    browser, tags = _read(request)
    browser = browser or secrets.token_urlsafe(16)
    tag = _tag(browser, email)
    kept = [tag, *(each for each in tags if each != tag)][:_MAX_ACCOUNTS]
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        _SEPARATOR.join([browser, *kept]),
        max_age=COOKIE_DAYS * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _known_browser(request: HttpRequest, email: str) -> str:
    """Return the browser's number if it is known for the account, else nothing."""
    browser, tags = _read(request)
    expected = _tag(browser, email)
    return browser if any(constant_time_compare(t, expected) for t in tags) else ""


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    value = request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, "")
    browser, *tags = value.split(_SEPARATOR)
    return browser, tags[:_MAX_ACCOUNTS]


def _tag(browser: str, email: str) -> str:
    value = f"{browser}{_SEPARATOR}{email}"
    return salted_hmac(__name__, value, algorithm="sha256").hexdigest()
