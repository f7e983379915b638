"""The cabinet's middleware: security headers, health checks, sessions, language."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from readback.cabinet import metrics, session_services
from readback.cabinet.security_headers import headers_of
from readback.cabinet.worker import LIFECYCLE
from readback.lifecycle import Lifecycle

HEALTH_PATH = "/healthz"
METRICS_PATH = "/metrics"

# The session's keys for the time of the login and of the last write.
SESSION_STARTED = "began"
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
        if request.path == METRICS_PATH and metrics.is_from_operator(request):
            return HttpResponse(metrics.text(), content_type=metrics.CONTENT_TYPE)
        return get_response(request)

    return handle


def session_lifetime(get_response: Handler) -> Handler:
    """End sessions SESSION_ABSOLUTE_AGE after the login, and extend those in use.

    Unused sessions expire SESSION_COOKIE_AGE after they were last written.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            _end_or_extend(request)
        return get_response(request)

    return handle


def _end_or_extend(request: HttpRequest) -> None:
    now = timezone.now().timestamp()
    started = request.session.setdefault(SESSION_STARTED, now)
    if now - started > settings.SESSION_ABSOLUTE_AGE:
        logout(request)
    elif now - request.session.get(
        _SESSION_SEEN, 0
    ) > _REFRESH_SECONDS or not session_services.is_listed(request):
        request.session[_SESSION_SEEN] = now
        session_services.session_record(request)


def account_language(get_response: Handler) -> Handler:
    """Use the language that the account has chosen, on any device."""

    def handle(request: HttpRequest) -> HttpResponse:
        language = getattr(request.user, "language", "")
        if language:
            translation.activate(language)
            request.LANGUAGE_CODE = language
        return get_response(request)

    return handle
