"""The probe as a file to fetch, its checksum, and the lines that pages show for it.

No account is needed to fetch it.
"""

from shlex import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import etag, require_safe

from readback.cabinet.keys import probe_file


def offered() -> dict[str, str]:
    """Return the context of cabinet/probe.html."""
    url = f"{settings.CABINET_URL}{reverse('probe')}"
    base_url = settings.CONFIG.base_url
    lines = f"curl -fsSO {quote(url)}\npython3 {probe_file.NAME} {quote(base_url)}"
    return {"probe_lines": lines, "probe_checksum": probe_file.checksum()}


def _etag(request: HttpRequest) -> str:
    return f'"{probe_file.checksum()}"'


# Caches ask each time whether it is still the same, so that it fits its checksum.
@require_safe
@cache_control(no_cache=True)
@etag(_etag)
def download(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(probe_file.content(), "application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{probe_file.NAME}"'
    return response


@require_safe
@cache_control(no_cache=True)
def checksum(request: HttpRequest) -> HttpResponse:
    """Return the checksum in the form that `sha256sum -c` reads."""
    line = f"{probe_file.checksum()}  {probe_file.NAME}\n"
    return HttpResponse(line, "text/plain; charset=utf-8")
