"""A new key on its way from the form to the one page that shows it.

The browser is redirected in between, so that a reload repeats nothing. On this way
the key is two halves: random bytes in a cookie, and the key blended with them in the
session. The table of sessions alone, or the cookie alone, says nothing about it.
"""

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_COOKIE = "new-key"
_SESSION = "new-key:"
_SECONDS = 300


def put(request: HttpRequest, answer: HttpResponse, path: str, key: str) -> None:
    """Leave a key for the page at `path`, for a few minutes."""
    pad = secrets.token_bytes(len(key))
    request.session[_SESSION + path] = _blend(key.encode(), pad).hex()
    answer.set_cookie(
        _COOKIE,
        pad.hex(),
        max_age=_SECONDS,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )


def take(request: HttpRequest) -> str | None:
    """Give the key that was left for this page, for the only time."""
    half = request.session.pop(_SESSION + request.path, "")
    try:
        pad = bytes.fromhex(request.COOKIES.get(_COOKIE, ""))
        return _blend(bytes.fromhex(half), pad).decode() or None
    except ValueError:
        return None


def forget(answer: HttpResponse, path: str) -> None:
    answer.delete_cookie(_COOKIE, path=path, samesite="Strict")


def _blend(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
