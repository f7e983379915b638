"""The pages: each reads with selectors, changes with services, renders a template."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    return render(
        request, "cabinet/landing.html", {"base_url": settings.CONFIG.base_url}
    )
