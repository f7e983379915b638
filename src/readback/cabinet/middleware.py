"""What stands around every request of the cabinet, before and behind any page."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

HEALTH_PATH = "/healthz"

# Everything comes from here and nothing stands inline, so injected markup is inert.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
    )
)

# How often a session in use is written back, which moves its end.
_SLIDE_SECONDS = 600

Handler = Callable[[HttpRequest], HttpResponse]


def security_headers(get_response: Handler) -> Handler:
    """Tell browsers what no answer of ours needs; outermost, so errors have it, too."""

    def handle(request: HttpRequest) -> HttpResponse:
        answer = get_response(request)
        answer["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        if settings.SECURE_HSTS_SECONDS:
            # Django adds it only if the proxy says that it was asked by HTTPS.
            hsts = f"max-age={settings.SECURE_HSTS_SECONDS}"
            answer.headers.setdefault("Strict-Transport-Security", hsts)
        # What depends on the cookies is about one person, or has a form's token.
        if "Cookie" in answer.get("Vary", ""):
            answer["Cache-Control"] = "no-store, private"
        return answer

    return handle


def health(get_response: Handler) -> Handler:
    """Answer health checks first: they come by address, under any Host."""

    def handle(request: HttpRequest) -> HttpResponse:
        if request.path == HEALTH_PATH:
            return HttpResponse("ok\n", content_type="text/plain")
        return get_response(request)

    return handle


def session_lifetime(get_response: Handler) -> Handler:
    """End sessions that nobody uses, and after a time those that somebody does.

    Unused ones end by themselves, SESSION_COOKIE_AGE after they were last written.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            _grow_older(request)
        return get_response(request)

    return handle


def _grow_older(request: HttpRequest) -> None:
    now = timezone.now().timestamp()
    began = request.session.setdefault("began", now)
    if now - began > settings.SESSION_ABSOLUTE_AGE:
        logout(request)
    elif now - request.session.get("seen", 0) > _SLIDE_SECONDS:
        request.session["seen"] = now


def account_language(get_response: Handler) -> Handler:
    """Speak the language that the account has chosen, on any device."""

    def handle(request: HttpRequest) -> HttpResponse:
        language = getattr(request.user, "language", "")
        if language:
            translation.activate(language)
            request.LANGUAGE_CODE = language
        return get_response(request)

    return handle
