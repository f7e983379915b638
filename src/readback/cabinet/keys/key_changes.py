"""The pages that rename a key, and that replace it by a new one."""

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import new_key, services
from readback.cabinet.keys.forms import RenameForm, RotationForm
from readback.cabinet.keys.selectors import owned_key
from readback.cabinet.serving.requests import AccountRequest
from readback.contract import REVOCATION_SECONDS


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def rename(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    form = RenameForm(request.POST or None, initial={"label": key.label})
    if request.method == "POST" and form.is_valid():
        try:
            services.key_rename(key, form.cleaned_data["label"])
        except ServiceError as error:
            form.add_error("label", str(error))
        else:
            messages.success(request, _("The name has been saved."))
            return redirect("key", key_id=key.pk)
    context = {"nav": "keys", "key": key, "form": form}
    return render(request, "cabinet/rename.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def rotate(request: AccountRequest, key_id: int) -> HttpResponse:
    key = owned_key(request, key_id)
    form = RotationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return new_key.show_once(request, services.key_rotate(key, form.chosen))
        except services.AlreadyRotated:
            # Of two clicks, the browser shows the second response. The cookie of the
            # first one lets this page show the new key, too.
            key.refresh_from_db(fields=["replaced_by"])
            return redirect("new_key", key_id=key.replaced_by_id)
        except ServiceError as error:
            form.add_error(None, str(error))
    context = {
        "nav": "keys",
        "key": key,
        "form": form,
        "seconds": REVOCATION_SECONDS,
    }
    return render(request, "cabinet/rotate.html", context)
