"""Landing page, privacy page, and files at well-known addresses for programs.

The landing page shows one request and its answer byte by byte. RFC 8615 defines
/.well-known/; favicon.ico and robots.txt are files in root/.
"""

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import etag, require_safe

from readback import contract
from readback.cabinet.keys import probe_file
from readback.cabinet.mail import outbox

# Has characters of one, two and three bytes, so that a wrong encoding would show.
_MESSAGE = "Ready to copy? Да ✓"
_DAY = 24 * 3600
# RFC 9116 recommends that the file expires in less than a year.
_SECURITY_DAYS = 180


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    context = {
        "message": _MESSAGE,
        "characters": [
            (text.replace(" ", "␣"), [f"{octet:02x}" for octet in text.encode()])
            for text in _MESSAGE
        ],
        "size": len(_MESSAGE.encode()),
        "path": contract.CHAT_PATH,
        "max_content": contract.MAX_CONTENT_BYTES,
    }
    return render(request, "pages/landing.html", context)


@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    config = settings.CONFIG
    context = {
        "journal_rows": contract.JOURNAL_ROWS,
        "journal_days": config.journal_days,
        "usage_days": config.usage_days,
        "unmatched_is_on": config.unmatched_requests,
        "unmatched_minutes": contract.UNMATCHED_SECONDS // 60,
        "session_days": settings.SESSION_COOKIE_AGE // _DAY,
        "session_max_days": settings.SESSION_ABSOLUTE_AGE // _DAY,
        "mail_days": outbox.NOTICE_LIFETIME.days,
        "limit_hours": 24,  # the longest window of any rate limit
        "settings": settings,  # for the names of the cookies
        "language_days": settings.LANGUAGE_COOKIE_AGE // _DAY,
        "csrf_days": settings.CSRF_COOKIE_AGE // _DAY,
    }
    return render(request, "pages/privacy.html", context)


@require_safe
def address_json(request: HttpRequest) -> JsonResponse:
    response = JsonResponse({"base_url": settings.CONFIG.base_url})
    response["Cache-Control"] = "no-cache"
    # The address is public, so scripts of any site may read it.
    response["Access-Control-Allow-Origin"] = "*"
    return response


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Say where to report a vulnerability (RFC 9116), if a contact has been set."""
    if not settings.CONFIG.contact:
        raise Http404
    expires = timezone.now() + timedelta(days=_SECURITY_DAYS)
    fields = {
        "Contact": settings.CONFIG.contact,
        "Expires": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Preferred-Languages": ", ".join(dict(settings.LANGUAGES)),
        "Canonical": settings.CABINET_URL + reverse("security_txt"),
    }
    lines = [f"# {settings.BRAND.name}: {settings.CABINET_URL}\n"]
    lines += [f"{name}: {value}\n" for name, value in fields.items()]
    return HttpResponse("".join(lines), "text/plain; charset=utf-8")


# Caches must revalidate the probe, so that it matches the checksum on the page.
@require_safe
@cache_control(no_cache=True)
@etag(lambda request: f'"{probe_file.checksum()}"')
def probe(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(probe_file.content(), "application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{probe_file.NAME}"'
    return response
