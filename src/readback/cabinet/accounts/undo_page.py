"""The page behind the link in the mail to the old address of an account.

Opening it changes nothing, because mail scanners open links; its button does.
"""

from allauth.core import ratelimit
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from readback.cabinet.accounts import email_changes, email_undo
from readback.cabinet.accounts.email_undo import UndoToken
from readback.cabinet.accounts.mail_pages import RESET_ADDRESS
from readback.cabinet.models import User

_TEMPLATE = "account/undo_email_change.html"


@require_http_methods(["GET", "HEAD", "POST"])
def undo_email_change(request: HttpRequest, token: str) -> HttpResponse:
    undo = email_undo.read(token)
    account = undo and User.objects.filter(pk=undo.account).first()
    if not undo or not account or not email_undo.is_usable(undo, account):
        return render(request, _TEMPLATE)
    if request.method != "POST":
        return render(request, _TEMPLATE, {"email": undo.email})
    limited = ratelimit.consume_or_429(request, action="undo_email_change")
    return limited or _undo(request, undo)


def _undo(request: HttpRequest, undo: UndoToken) -> HttpResponse:
    try:
        account = email_changes.email_change_undo(undo)
    except email_changes.DeadLinkError:
        return render(request, _TEMPLATE)
    except email_changes.EmailTakenError:
        return render(request, _TEMPLATE, {"email": undo.email, "is_taken": True})
    if request.user == account:
        logout(request)  # the session has ended; this also removes its cookie
    request.session[RESET_ADDRESS] = undo.email
    done = _("The change has been undone. A link to set a new password is on its way.")
    messages.success(request, done)
    return redirect("account_reset_password_done")
