"""Limits on wrong passwords that stop strangers and never the owner.

Strangers are counted per account and network address together, and all of them per
account. A browser in which somebody has logged in to the account before is counted by
itself: it gets in, however many strangers try. It is known by a cookie, a random number
with one tag per account. The numbers are in the settings.
"""

import secrets
import time
from math import ceil

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from readback.cabinet.serving.allauth_internals import ratelimit

_APP = "allauth.account"
COOKIE_DAYS = 365
# A cookie has the tags of the accounts that were used last.
_MAX_ACCOUNTS = 5
_SEPARATOR = "."
# Every cookie that has been set depends on it.
_SALT = "readback.cabinet.login_limits"


def consume(request: HttpRequest, email: str) -> ratelimit.RateLimitUsage | None:
    """Count an attempt; return what undoes the count, or None above a limit."""
    total = ratelimit.RateLimitUsage(usage=[])
    for action, key in _counts(request, email):
        usage = ratelimit.consume(request, app=_APP, action=action, key=key)
        if usage is None:
            return None
        total.usage += usage.usage
    return total


def minutes_to_wait(request: HttpRequest, email: str) -> int:
    return max(minutes_until(request, *count) for count in _counts(request, email))


def minutes_until(request: HttpRequest, action: str, key: str | None = None) -> int:
    """Return in how many minutes an action is allowed again, at least 1."""
    waits = [0.0]
    for rate in ratelimit.get_rates(app=_APP, action=action):
        place = ratelimit.get_cache_key(
            request, app=_APP, action=action, rate=rate, key=key
        )
        attempts: list[float] = cache.get(place, [])  # the latest first
        if len(attempts) >= rate.amount:
            ends = attempts[rate.amount - 1] + rate.duration
            waits.append(ends - time.time())
    return max(ceil(max(waits) / 60), 1)


def clear(request: HttpRequest, email: str) -> None:
    """Forget the attempts on an account, and those of this visitor on it."""
    for action, key in _counts_of_stranger(request, email):
        ratelimit.clear(request, app=_APP, action=action, key=key)


def _counts(request: HttpRequest, email: str) -> list[tuple[str, str]]:
    """Return the actions that an attempt is counted as, each with its key."""
    browser, tags = _read(request)
    expected = _tag(browser, email)
    if browser and any(constant_time_compare(tag, expected) for tag in tags):
        return [("login_failed_known", f"{browser} {email}")]
    return _counts_of_stranger(request, email)


def _counts_of_stranger(request: HttpRequest, email: str) -> list[tuple[str, str]]:
    stranger = f"{ratelimit.get_ip(request)} {email}"
    return [("login_failed", stranger), ("login_failed_account", email)]


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


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    value = request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, "")
    browser, *tags = value.split(_SEPARATOR)
    return browser, tags[:_MAX_ACCOUNTS]


def _tag(browser: str, email: str) -> str:
    value = f"{browser}{_SEPARATOR}{email}"
    return salted_hmac(_SALT, value, algorithm="sha256").hexdigest()
