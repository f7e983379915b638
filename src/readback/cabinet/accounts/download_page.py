"""The page that offers everything we hold about the account, and the file itself."""

from allauth.account.decorators import reauthentication_required
from allauth.core import ratelimit
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET, require_safe

from readback.cabinet.accounts import download as account_download
from readback.cabinet.accounts import login_limits
from readback.cabinet.serving import errors, security_log
from readback.cabinet.serving.requests import AccountRequest

_LIMIT = "download_data"


@require_safe
@never_cache
@login_required
@reauthentication_required
def page(request: AccountRequest) -> HttpResponse:
    """Ask for the password here: a file after it would leave its form on the screen."""
    return render(request, "cabinet/account_data.html", {"nav": "account"})


# Not HEAD: it would write to the security log. Compressed, because the whole answer
# is in memory before it is sent, and a year of counts is 20 times larger than its gzip.
@require_GET
@never_cache
@login_required
@reauthentication_required
@gzip_page
def download(request: AccountRequest) -> HttpResponseBase:
    if ratelimit.consume_or_429(request, action=_LIMIT, limit_get=True):
        minutes = login_limits.minutes_until(request, _LIMIT)
        return errors.too_many_requests(request, minutes)
    security_log.record("data_downloaded", account=request.user.pk)
    parts = account_download.as_json(request.user)
    response = StreamingHttpResponse(parts, content_type="application/json")
    name = f"readback-account-{timezone.now():%Y-%m-%d}.json"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
