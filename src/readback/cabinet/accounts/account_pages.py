"""The pages to sign up, to see and delete the account, and to list its sessions.

allauth's pages change the e-mail address and the password. A link in an e-mail only
opens a page with a button, because mail scanners open links, too.
"""

from typing import Any

from allauth.account import views as allauth_views
from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.usersessions.views import ListUserSessionsView
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST, require_safe

from readback.cabinet.accounts import forms, selectors, services
from readback.cabinet.accounts.adapter import count_mail
from readback.cabinet.serving import security_log
from readback.cabinet.serving.visitors import AccountRequest, personal_form


class SignUpView(allauth_views.SignupView):
    def form_valid(self, form: forms.SignupForm) -> HttpResponse:
        """Create the account, its address and its e-mail together, or none of them."""
        email = form.cleaned_data["email"]
        # Count the e-mail whether or not the address has an account.
        count_mail(self.request, email)
        # Cleared so that every sign-up sends an e-mail and shows the same message.
        # Outside the transaction, because sign-ups that lock this row and the account's
        # in different orders could deadlock.
        ratelimit.clear(self.request, action="confirm_email", key=email)
        form.hash_password()
        with transaction.atomic():
            return super().form_valid(form)


class ConfirmEmailView(allauth_views.ConfirmEmailView):
    def logout_other_user(self, confirmation: Any) -> None:
        """Log the other account out when the button is pressed, not earlier."""
        if self.request.method == "POST":
            super().logout_other_user(confirmation)


@require_safe
@login_required
def overview(request: AccountRequest) -> HttpResponse:
    context = {
        "pending_email": EmailAddress.objects.get_new(request.user),
        "is_connected": selectors.account_is_connected(request.user),
        "factors": selectors.second_factors_of(request.user),
    }
    return render(request, "accounts/account.html", context)


@personal_form
@reauthentication_required
def delete(request: AccountRequest) -> HttpResponse:
    account = request.user
    form = forms.DeleteAccountForm(account, request.POST or None)
    if request.method == "POST" and form.is_valid():
        with forms.service_errors(form, "email"), transaction.atomic():
            if account.is_staff:
                services.audit_record(account, account, gettext_noop("Deleted"))
            services.account_delete(account)
            request.session.flush()
            done = _("Your account and all its data have been deleted.")
            messages.success(request, done)
            return redirect("landing")
    return render(request, "accounts/account_delete.html", {"form": form})


# allauth does not ask users without a password to log in again, so anyone who finds an
# open session of such an account could set its password.
set_password = login_required(reauthentication_required(allauth_views.password_set))
# The button in the header needs no confirmation page.
log_out = require_POST(allauth_views.logout)


class SessionsView(ListUserSessionsView):
    def form_valid(self, form: Any) -> HttpResponse:
        security_log.record("other_sessions_ended", account=self.request.user.pk)
        return super().form_valid(form)


@personal_form
def log_in_again(request: AccountRequest) -> HttpResponse:
    """Ask for a new login, for an account that cannot reauthenticate in another way."""
    path = get_next_redirect_url(request) or reverse("account")
    if request.method == "POST":
        get_adapter().logout(request)
        return redirect(reverse("account_login", query={"next": path}))
    return render(request, "accounts/log_in_again.html", {"next": path})
