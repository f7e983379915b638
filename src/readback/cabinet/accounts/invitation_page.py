"""The page that the link of an invitation opens: choose a password, get an account.

A link that does not work gets one page, whatever the reason, so that it reveals nothing
about the address. Only the button uses a link up, because mail scanners open links.
"""

from http import HTTPStatus

from allauth.account.internal.flows.signup import complete_signup
from allauth.core import ratelimit
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from readback.cabinet.accounts import invitations
from readback.cabinet.accounts.forms import InvitationForm
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.models import Invitation


@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("password1")
@never_cache
def accept(request: HttpRequest, token: str) -> HttpResponse:
    invitation = invitations.invitation_of_link(token)
    if invitation is None:
        return _does_not_work(request)
    if request.user.is_authenticated:
        return render(request, "account/invitation_logged_in.html")
    form = InvitationForm(request.POST or None, email=invitation.email)
    if request.method == "POST":
        limited = ratelimit.consume_or_429(request, action="signup")
        if limited:
            return limited
        if form.is_valid():
            return _create_account(request, invitation, form)
    context = {"email": invitation.email, "form": form}
    return render(request, "account/invitation.html", context)


def _create_account(
    request: HttpRequest, invitation: Invitation, form: InvitationForm
) -> HttpResponse:
    password = form.cleaned_data["password1"]
    try:
        account = invitations.invitation_accept(invitation, password)
    except ServiceError:
        return _does_not_work(request)
    response: HttpResponse = complete_signup(request, user=account)
    return response


def _does_not_work(request: HttpRequest) -> HttpResponse:
    page = "account/invitation_does_not_work.html"
    return render(request, page, status=HTTPStatus.NOT_FOUND)
