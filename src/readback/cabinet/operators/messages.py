"""The invitations: their list, and the page on which operators invite people."""

from functools import partial
from typing import Any

from allauth.core import context as allauth_context
from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import invitations
from readback.cabinet.accounts.forms import NoLabelSuffixForm, service_errors
from readback.cabinet.accounts.invitations import InvitationOutcome
from readback.cabinet.models import Invitation, User
from readback.cabinet.operators.admin_site import Operation, ReadOnlyAdmin
from readback.contract import INVITATION_DAYS


class InviteForm(NoLabelSuffixForm, forms.Form):
    addresses = forms.CharField(
        label=_("E-mail addresses"),
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text=format_lazy(
            _(
                "Up to {limit} addresses in any form, or a CSV file with a heading. "
                "Each person receives a link that works once, for {days} days."
            ),
            limit=invitations.MAX_ADDRESSES,
            days=INVITATION_DAYS,
        ),
    )


class InvitationAdmin(ReadOnlyAdmin):
    list_display = (
        "email",
        "state",
        "invited_by",
        "created_at",
        "expires_at",
        "accepted_at",
    )
    list_filter = ("created_at", "accepted_at")
    list_select_related = ("invited_by",)
    search_fields = ("email",)
    ordering = ("-created_at",)
    operations = {
        "send_again": Operation(
            _("Send again: a new link, and earlier ones stop working"),
            "",
            lambda row: invitations.invitation_create(row.email, by=_operator()),
            gettext_noop("Invited again"),
        ),
        "withdraw": Operation(
            _("Withdraw: the link stops working"),
            "",
            invitations.invitation_withdraw,
            gettext_noop("Withdrawn"),
        ),
    }

    @admin.display(description=_("state"))
    def state(self, invitation: Invitation) -> str:
        return str(invitation.state.label)

    fields = list_display

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("cabinet.add_invitation"))

    def add_view(self, request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
        """Invite the people of a list; say what is wrong with which line."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = InviteForm(request.POST or None)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("Invite people"),
            "form": form,
        }
        if request.method == "POST" and form.is_valid():
            with service_errors(form, "addresses"):
                context |= self._invite(request, form.cleaned_data["addresses"])
        return TemplateResponse(request, "operators/invite.html", context)

    def _invite(self, request: HttpRequest, addresses: str) -> dict[str, Any]:
        log = partial(self.log_addition, request, message="")
        results = invitations.invite_many(addresses, by=_operator(), also=log)
        invited = sum(each.outcome is InvitationOutcome.INVITED for each in results)
        wrong = [each for each in results if each.outcome is InvitationOutcome.WRONG]
        return {
            "results": results,
            "invited": invited,
            "known": len(results) - invited - len(wrong),
            "wrong": wrong,
            # What can be corrected and sent again.
            "form": InviteForm(
                initial={"addresses": "\n".join(each.email for each in wrong)}
            ),
        }


def _operator() -> User | None:
    user = getattr(allauth_context.request, "user", None)
    return user if isinstance(user, User) else None
