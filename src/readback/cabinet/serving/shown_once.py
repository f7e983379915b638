"""Hand a new key, or new recovery codes, from the form to the page that shows them.

The browser is redirected in between, so that a reload does not repeat the form. On the
way, they exist only as two halves: random bytes in a cookie, and the text XORed with
these bytes in the session. Neither half alone reveals anything about the text.
"""

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

_SESSION_PREFIX = "new-key:"
LIFETIME_SECONDS = 300


def redirect_to(path: str, request: HttpRequest, key: str) -> HttpResponse:
    """Redirect to the page at `path`, which has a few minutes to show the key."""
    pad = secrets.token_bytes(len(key))
    request.session[_SESSION_PREFIX + path] = _xor(key.encode(), pad).hex()
    response = redirect(path)
    response.set_cookie(
        _cookie_name(path),
        pad.hex(),
        max_age=LIFETIME_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def pop(request: HttpRequest) -> str | None:
    """Return the key stored for this page and remove it, or None if there is none."""
    masked_key = request.session.pop(_SESSION_PREFIX + request.path, "")
    try:
        pad = bytes.fromhex(request.COOKIES.get(_cookie_name(request.path), ""))
        return _xor(bytes.fromhex(masked_key), pad).decode() or None
    except ValueError:
        return None


def delete_cookie(response: HttpResponse, path: str) -> None:
    response.delete_cookie(_cookie_name(path), samesite="Strict")


def _cookie_name(path: str) -> str:
    # The prefix __Host- allows no path, so the name tells one new key from another.
    return settings.NEW_KEY_COOKIE_NAME + path.rstrip("/").replace("/", "-")


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
