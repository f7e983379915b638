"""Addresses that programs know by convention, below /.well-known/ (RFC 8615).

favicon.ico and robots.txt are files in root/.
"""

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

# RFC 9116 recommends less than a year.
_SECURITY_DAYS = 180


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Say where to report a vulnerability (RFC 9116), if the operator has said so."""
    if not settings.CONFIG.contact:
        raise Http404
    # On the hour, so that the file does not differ each time.
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    expires = now + timedelta(days=_SECURITY_DAYS)
    fields = {
        "Contact": settings.CONFIG.contact,
        "Expires": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Preferred-Languages": ", ".join(code for code, _name in settings.LANGUAGES),
        "Canonical": settings.CABINET_URL + reverse("security_txt"),
    }
    lines = [f"{name}: {value}\n" for name, value in fields.items()]
    return HttpResponse("".join(lines), "text/plain; charset=utf-8")


@require_safe
def change_password(request: HttpRequest) -> HttpResponse:
    """Lead password managers to the page where a password is changed."""
    return redirect("account_change_password")
