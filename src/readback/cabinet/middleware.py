"""The cabinet's middleware: headers, health, counts, polls, sessions and more."""

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone, translation

from readback.cabinet import account_rules
from readback.cabinet.accounts import password_pages, sessions
from readback.cabinet.accounts.reauthentication import used_provider
from readback.cabinet.keys import live_parts
from readback.cabinet.operators import metrics
from readback.cabinet.operators.metrics import WorkerPages
from readback.cabinet.serving import errors
from readback.cabinet.serving.security_headers import headers_of
from readback.cabinet.serving.worker import LIFECYCLE, PAGES, TOO_MANY_PASSWORDS
from readback.lifecycle import Lifecycle

HEALTH_PATH = "/healthz"
METRICS_PATH = "/metrics"

# The session's key for the time of its last write.
_SESSION_SEEN = "seen"

# A session in use is written at most this often; each write extends it.
_REFRESH_SECONDS = 600

Handler = Callable[[HttpRequest], HttpResponse]


def empty_head(get_response: Handler) -> Handler:
    """Answer HEAD without the body, which Django leaves to the server to drop.

    gunicorn does, and logs a warning for each.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if request.method == "HEAD" and not response.streaming:
            response.headers.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        return response

    return handle


def security_headers(get_response: Handler) -> Handler:
    """Add security headers; outermost, so that error responses get them, too."""

    headers = headers_of(settings.CONFIG)

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        for name, value in headers.items():
            response.headers.setdefault(name, value)
        # A page that depends on cookies is personal or contains a form's token, unless
        # its view says something else about caches.
        if "Cookie" in response.get("Vary", ""):
            response.headers.setdefault("Cache-Control", "no-store, private")
        return response

    return handle


def _health(lifecycle: Lifecycle | None) -> HttpResponse:
    if lifecycle is None:  # not served by our worker
        return HttpResponse("ok\n", "text/plain")
    if lifecycle.is_stopping:
        return HttpResponse("stopping\n", "text/plain", status=503)
    lifecycle.note_readiness_check()
    return HttpResponse("ok\n", "text/plain")


def health(get_response: Handler) -> Handler:
    """Answer operators first: they use an IP address, so any Host is allowed."""

    def handle(request: HttpRequest) -> HttpResponse:
        if request.path == HEALTH_PATH:
            return _health(request.META.get(LIFECYCLE))
        if request.path == METRICS_PATH and metrics.is_allowed(request):
            return metrics.answer(request)
        return get_response(request)

    return handle


def count_pages(get_response: Handler) -> Handler:
    """Count how pages end and how long they take, with their use of the database."""

    def handle(request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        response = get_response(request)
        pages: WorkerPages | None = request.META.get(PAGES)
        if pages:
            pages.count(request, response.status_code, time.monotonic() - began)
        return response

    return handle


def unchanged_parts(get_response: Handler) -> Handler:
    """Answer polls that find nothing new, without the session and the account."""

    def handle(request: HttpRequest) -> HttpResponse:
        return live_parts.unchanged(request) or get_response(request)

    return handle


class EndingSessionMiddleware(SessionMiddleware):
    """Lead to the login if the session has ended while a page was made.

    Its owner has ended it, here or in another browser, or an operator has. Django would
    answer 400.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        try:
            return super().process_response(request, response)
        except SessionInterrupted:
            ended = redirect("account_login")
            ended.delete_cookie(settings.SESSION_COOKIE_NAME, samesite="Lax")
            return ended


def session_lifetime(get_response: Handler) -> Handler:
    """End sessions SESSION_ABSOLUTE_AGE after the login, and extend those in use.

    If single sign-on is the only way to log in, sessions that began without it end.

    Unused sessions expire SESSION_COOKIE_AGE after they were last written.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            _end_or_extend(request)
        return get_response(request)

    return handle


def _end_or_extend(request: HttpRequest) -> None:
    now = timezone.now().timestamp()
    started = request.session.setdefault(sessions.SESSION_STARTED, now)
    is_too_old = now - started > settings.SESSION_ABSOLUTE_AGE
    if is_too_old or not _is_allowed_way(request):
        logout(request)
    elif now - request.session.get(
        _SESSION_SEEN, 0
    ) > _REFRESH_SECONDS or not sessions.is_listed(request):
        request.session[_SESSION_SEEN] = now
        sessions.session_record(request)


def _is_allowed_way(request: HttpRequest) -> bool:
    """Return False for a session from before READBACK_OIDC_ONLY, by a password."""
    return not account_rules.provider_is_only_way() or used_provider(
        request, request.user
    )


def account_language(get_response: Handler) -> Handler:
    """Use the language that the account has chosen, on any device."""

    def handle(request: HttpRequest) -> HttpResponse:
        language = getattr(request.user, "language", "")
        if language:
            translation.activate(language)
            request.LANGUAGE_CODE = language
        return get_response(request)

    return handle


def password_queue(get_response: Handler) -> Handler:
    """Answer at once if too many passwords wait for the threads that hash them."""

    def handle(request: HttpRequest) -> HttpResponse:
        if request.META.get(TOO_MANY_PASSWORDS):
            return errors.too_many_passwords(request)
        return get_response(request)

    return handle


def only_single_sign_on(get_response: Handler) -> Handler:
    """Refuse passwords, passkeys and sign-ups if READBACK_OIDC_ONLY is on.

    The adapter's `login` refuses every other way into a session as well.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_view(request: HttpRequest, *_: object) -> HttpResponse | None:
        if (
            not account_rules.provider_is_only_way()
            or not password_pages.needs_password(request)
        ):
            return None
        if request.method in ("GET", "HEAD") and not request.user.is_authenticated:
            return redirect("account_login")
        return password_pages.no_passwords(request)

    handle.process_view = process_view  # type: ignore[attr-defined]
    return handle
