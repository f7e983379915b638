"""The cabinet's middleware: headers, health, cookies, counts, sessions and logins."""

from collections.abc import Callable
from typing import cast
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.core.exceptions import ReauthenticationRequired
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from readback.cabinet import account_rules
from readback.cabinet.accounts import selectors, sessions, single_sign_on
from readback.cabinet.operators import status
from readback.cabinet.serving.security_headers import headers_of
from readback.cabinet.serving.wsgi import LIFECYCLE, PAGES, PageCounts
from readback.cabinet.storage.sealing import SessionKey, SessionStore
from readback.contract import HEALTH_PATH
from readback.processes.lifecycle import Lifecycle

METRICS_PATH = "/metrics"
# A session stores the time of its last write under this name.
_SESSION_SEEN = "seen"
# A session in use is written at most this often; each write extends it.
_REFRESH_SECONDS = 600
# The pages, and the forms on other pages, that are closed if single sign-on is the only
# way to log in.
_PASSWORD_PAGES = ("/accounts/password/", "/accounts/signup/")
_PASSWORD_FORMS = ("/accounts/login/", "/accounts/reauthenticate/")

Handler = Callable[[HttpRequest], HttpResponse]


class SecurityHeaders(MiddlewareMixin):
    """Add security headers. This middleware is outermost, so errors get them, too."""

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        for name, value in headers_of(settings.CONFIG).items():
            response.headers.setdefault(name, value)
        # A page that depends on cookies is personal or contains a CSRF token: it must
        # not be cached unless its view sets Cache-Control.
        if "Cookie" in response.get("Vary", ""):
            response.headers.setdefault("Cache-Control", "no-store, private")
        return response


def _answering(
    answer: Callable[[HttpRequest], HttpResponse | None],
) -> Callable[[Handler], Handler]:
    """Turn a function that answers or prepares some requests into middleware."""

    def middleware(get_response: Handler) -> Handler:
        return lambda request: answer(request) or get_response(request)

    return middleware


@_answering
def health(request: HttpRequest) -> HttpResponse | None:
    """Answer health checks and Prometheus before Django checks their Host header."""
    if request.path == METRICS_PATH and status.may_read_metrics(request):
        return status.metrics_answer(request)
    if request.path != HEALTH_PATH:
        return None
    lifecycle: Lifecycle | None = request.META.get(LIFECYCLE)
    if lifecycle and not lifecycle.answer_check():  # only our own workers set it
        return HttpResponse("stopping\n", "text/plain", status=503)
    lines = ["ok"]
    if lifecycle:
        lines += lifecycle.problems()
    return HttpResponse([f"{line}\n" for line in lines], "text/plain")


@_answering
def simple_cookies(request: HttpRequest) -> None:
    """Remove backslashes from cookies; ours contain none.

    Python before 3.11.10 and 3.12.6 takes quadratic time to parse a quoted value with
    backslashes (CVE-2024-7592): 8 KB took 0.26 s, 56 KB 11 s.
    """
    cookies = request.META.get("HTTP_COOKIE", "")
    if "\\" in cookies:
        request.META["HTTP_COOKIE"] = cookies.replace("\\", "")


@_answering
def brand_files(request: HttpRequest) -> HttpResponse | None:
    """Serve the operator's logo, colours and icon from memory, without a session."""
    file = settings.BRAND.files.get(request.path)
    if file is None or request.method not in ("GET", "HEAD"):
        return None
    response = HttpResponse(file.content, headers=file.headers)
    return get_conditional_response(request, file.etag, response=response)


class CountPages(MiddlewareMixin):
    """Count responses by status.

    Health checks and static files are answered by middleware that comes before this
    one, so they are not counted.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        pages: PageCounts | None = request.META.get(PAGES)
        if pages:
            pages.count(response.status_code)
        return response


class Sessions(SessionMiddleware):
    """Give browsers a session cookie, and store only its digest in the database.

    Only the request that ends a session deletes its cookie. A request from another
    window may still carry the old cookie when the browser already has a newer one.
    """

    def process_request(self, request: HttpRequest) -> None:
        cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        request.session = SessionStore(SessionKey(cookie) if cookie else None)

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        response = super().process_response(request, response)
        sent = response.cookies.get(settings.SESSION_COOKIE_NAME)
        if sent and sent.value:  # an empty value deletes the cookie
            key = cast(SessionKey, request.session.session_key)
            sent.set(sent.key, key.cookie, key.cookie)
        elif sent and not request.session.modified:
            del response.cookies[settings.SESSION_COOKIE_NAME]
        return response


@_answering
def session_lifetime(request: HttpRequest) -> None:
    """End sessions SESSION_ABSOLUTE_AGE after the login, and extend those in use.

    If single sign-on is the only way to log in, sessions that began without it end.
    Unused sessions expire SESSION_COOKIE_AGE after they were last written.
    """
    if not request.user.is_authenticated:
        return
    session = request.session
    now = timezone.now().timestamp()
    age = now - session.setdefault(sessions.SESSION_STARTED, now)
    is_allowed = not account_rules.provider_is_only_way() or selectors.used_provider(
        request, request.user
    )
    if age > settings.SESSION_ABSOLUTE_AGE or not is_allowed:
        logout(request)
        return
    if now - session.get(_SESSION_SEEN, 0) > _REFRESH_SECONDS:
        session[_SESSION_SEEN] = now
        UserSession.objects.create_from_request(request)


class OldLogins(MiddlewareMixin):
    """Ask the user to reauthenticate if the login is too old, without storing the form.

    allauth would store the form, including any password, and the request's cookies in
    the session.
    """

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        if not isinstance(exception, ReauthenticationRequired):
            return None
        if request.method == "POST":
            sentence = _(
                "You logged in a while ago. Confirm that it is you, then send the form "
                "again."
            )
            messages.info(request, sentence)
        [method, *_others] = get_adapter().get_reauthentication_methods(request.user)
        query = urlencode({"next": request.get_full_path()})
        return redirect(f"{method['url']}?{query}")


@_answering
def only_single_sign_on(request: HttpRequest) -> HttpResponse | None:
    """Refuse passwords, passkeys and sign-ups if READBACK_OIDC_ONLY is on.

    The adapter's `login` refuses all other ways to start a session.
    """
    if not account_rules.provider_is_only_way():
        return None
    is_form = request.method == "POST" and request.path_info in _PASSWORD_FORMS
    is_closed = is_form or request.path_info.startswith(_PASSWORD_PAGES)
    return single_sign_on.no_passwords(request) if is_closed else None
