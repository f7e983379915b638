"""The pages that cause an e-mail, and those that the link in an e-mail opens.

Most are allauth's, with a way to send the e-mail again. What the mails say is in
`mail/rendering.py`, how many are allowed in `mail/outbox.py`. Opening a link changes
nothing, because mail scanners open links; the button on its page does.
"""

from http import HTTPStatus
from typing import Any

from allauth.account import views
from allauth.account.stages import EmailVerificationStage, LoginStageController
from allauth.core import ratelimit
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _

from readback.cabinet.accounts import selectors
from readback.cabinet.accounts.forms import SignupForm

# The session's key for the address that asked for a reset.
RESET_ADDRESS = "reset_address"


class SignUpView(views.SignupView):
    def closed(self) -> HttpResponse:
        """Say how to get an account; refuse a form that was open before a restart."""
        is_form = self.request.method == "POST"
        context = {"contact": settings.CONFIG.contact}
        return render(
            self.request,
            self.template_name_signup_closed,
            context,
            status=HTTPStatus.FORBIDDEN if is_form else HTTPStatus.OK,
        )

    def form_valid(self, form: SignupForm) -> HttpResponse:
        """Create account, address and mail together, or nothing."""
        form.hash_password()
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            if response.status_code >= HTTPStatus.BAD_REQUEST:
                transaction.set_rollback(True)
        return response


class ConfirmationSentView(views.EmailVerificationSentView):
    """Says that the mail is on its way; the button sends another one.

    The address is that of the login that waits in this browser's session. For an
    address that already has an account, allauth keeps a login without an account there,
    so the button and its effect look the same.
    """

    def get_context_data(self, **extra: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**extra)
        context["can_send_again"] = self._pending_login() is not None
        return context

    def post(self, request: HttpRequest) -> HttpResponse:
        stage = self._pending_login()
        if stage is None:
            return redirect("account_login")
        login = stage.login
        address = login.user.get_username() if login.user else login.email
        _tell_if_too_soon(request, address or "")
        # It sends the mail, with all limits, unless the address is confirmed by now.
        response, _is_passed = stage.handle()
        return response or redirect("account_login")

    def _pending_login(self) -> Any:
        return LoginStageController.enter(self.request, EmailVerificationStage.key)


class ChangeEmailView(views.EmailView):
    """The address of an account; a new one waits there until it is confirmed."""

    # It shows the address that waits, with buttons to send the mail again or cancel.
    success_url = reverse_lazy("account")

    def post(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        if "action_send" in request.POST:
            _tell_if_too_soon(request, request.POST.get("email", ""))
        return super().post(request, *args, **options)


class ConfirmEmailView(views.ConfirmEmailView):
    def logout_other_user(self, confirmation: Any) -> None:
        """Log another account out when the button is pressed, not by the link."""
        if self.request.method == "POST":
            super().logout_other_user(confirmation)

    def get_context_data(self, **extra: Any) -> dict[str, Any]:
        """Say at once if another account has the address, although unconfirmed."""
        context: dict[str, Any] = super().get_context_data(**extra)
        if self.object and context["can_confirm"]:
            address = self.object.email_address
            taken = selectors.email_is_taken(address.email, address.user)
            context["can_confirm"] = not taken
        return context


class ResetPasswordView(views.PasswordResetView):
    def form_valid(self, form: Any) -> HttpResponse:
        """Keep the address for the button of the next page, which sends it again."""
        response: HttpResponse = super().form_valid(form)
        session, address = self.request.session, form.cleaned_data["email"]
        if session.get(RESET_ADDRESS) == address and response.status_code < 400:
            messages.info(self.request, _("Another e-mail is on its way."))
        session[RESET_ADDRESS] = address
        return response


def _tell_if_too_soon(request: HttpRequest, address: str) -> None:
    """Say why no mail is sent; allauth says nothing then."""
    key = address.lower()
    if not ratelimit.consume(request, action="confirm_email", key=key, dry_run=True):
        wait = _("You can send the e-mail again three minutes after the last one.")
        messages.info(request, wait)


sign_up = SignUpView.as_view()
change_email = ChangeEmailView.as_view()
confirm_email = ConfirmEmailView.as_view()
confirmation_sent = ConfirmationSentView.as_view()
reset_password = ResetPasswordView.as_view()
