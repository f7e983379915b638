"""The page that lists where the account is logged in, and ends sessions."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from readback.cabinet.accounts import sessions as account_sessions
from readback.cabinet.serving.requests import AccountRequest


@require_safe
@never_cache
@login_required
def overview(request: AccountRequest) -> HttpResponse:
    current = request.session.session_key
    sessions = [
        {
            "pk": row.pk,
            "is_current": row.session_key == current,
            "browser": row.data.get("name", ""),
            "system": row.data.get("system", ""),
            "address": account_sessions.shown_address(row),
            "since": row.created_at,
            "last_seen": row.last_seen_at,
        }
        for row in account_sessions.sessions_of(request.user)
    ]
    # This browser first; the others stay in their order.
    sessions.sort(key=lambda session: not session["is_current"])
    context = {"nav": "account", "sessions": sessions}
    return render(request, "cabinet/sessions.html", context)


@require_POST
@login_required
def end(request: AccountRequest, pk: int) -> HttpResponse:
    """End one session; one that does not exist, or is another account's, stays."""
    account_sessions.session_end(request.user, pk)
    messages.success(request, _("The session has ended."))
    return redirect("sessions")


@require_POST
@login_required
def end_others(request: AccountRequest) -> HttpResponse:
    account_sessions.sessions_end_others(request.user, request.session.session_key)
    messages.success(request, _("All other sessions have ended."))
    return redirect("sessions")
