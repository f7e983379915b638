"""The list of an account's keys."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    return render(request, "cabinet/keys.html", {"nav": "keys"})
