"""The Account page: what belongs to the person rather than to a key.

E-mail and password are changed on allauth's pages, to which this one leads.
"""

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from readback.cabinet import services
from readback.cabinet.account_forms import DeleteAccountForm, LanguageForm
from readback.cabinet.views.owned import AccountRequest


@require_safe
@login_required
def overview(request: AccountRequest) -> HttpResponse:
    facts = {
        "nav": "account",
        "pending_email": EmailAddress.objects.get_new(request.user),
        "language_form": LanguageForm(initial={"language": request.user.language}),
    }
    return render(request, "cabinet/account.html", facts)


@require_POST
@login_required
def language(request: AccountRequest) -> HttpResponse:
    """Keep a language for pages and mails, or go by the browser again."""
    answer = redirect("account")
    form = LanguageForm(request.POST)
    if form.is_valid():
        services.account_set_language(request.user, form.cleaned_data["language"])
        # The switch at the foot of every page leaves a cookie, which would win.
        answer.delete_cookie(settings.LANGUAGE_COOKIE_NAME)
        with translation.override(form.cleaned_data["language"] or None):
            messages.success(request, _("The language is saved."))
    return answer


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delete(request: AccountRequest) -> HttpResponse:
    account = request.user
    form = DeleteAccountForm(request.POST or None, account=account)
    if request.method == "POST" and form.is_valid():
        services.account_delete(account)
        request.session.flush()
        messages.success(request, _("Your account and all that was in it are gone."))
        return redirect("landing")
    return render(
        request, "cabinet/account_delete.html", {"nav": "account", "form": form}
    )
