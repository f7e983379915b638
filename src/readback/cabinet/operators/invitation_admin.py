"""The operators' page for invitations: invite an address, send again, withdraw."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import invitations
from readback.cabinet.accounts.forms import NormalisedEmailField
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.models import Invitation, User
from readback.cabinet.operators.admin import operator_site
from readback.cabinet.operators.admin_lists import ReadOnlyAdmin, operation
from readback.contract import INVITATION_DAYS


class InviteForm(forms.ModelForm):  # type: ignore[type-arg]
    email = NormalisedEmailField(
        help_text=format_lazy(
            _(
                "They receive a link that works once, for {days} days. If you have "
                "invited them before, earlier links stop working."
            ),
            days=INVITATION_DAYS,
        )
    )

    class Meta:
        model = Invitation
        fields = ("email",)

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            invitations.check_invitable(email)
        except ServiceError as error:
            raise ValidationError(str(error)) from None
        return email

    def validate_unique(self) -> None:
        """Allow an address that has been invited: it is invited again."""


@admin.register(Invitation, site=operator_site)
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
    form = InviteForm
    actions = ("send_again", "withdraw")

    @admin.display(description=_("state"))
    def state(self, invitation: Invitation) -> str:
        return str(invitation.state.label)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm("cabinet.add_invitation"))

    def get_fields(
        self, request: HttpRequest, obj: Invitation | None = None
    ) -> tuple[str, ...]:
        return self.list_display if obj else ("email",)

    def add_view(self, request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
        title = gettext("Invite somebody")
        context = {"title": title, "show_save_and_continue": False}
        try:
            return super().add_view(request, extra_context=context)
        except ServiceError as error:
            messages.error(request, str(error))
            return redirect("admin:cabinet_invitation_changelist")

    def save_model(
        self, request: HttpRequest, obj: Invitation, form: Any, change: bool
    ) -> None:
        obj.pk = _invite(request, obj).pk

    def response_add(
        self, request: HttpRequest, obj: Invitation, post_url_continue: Any = None
    ) -> HttpResponse:
        invited = gettext("Invited %(email)s.") % {"email": obj.email}
        messages.success(request, f"{invited} {_mail_note()}")
        page = "add" if "_addanother" in request.POST else "changelist"
        return redirect(f"admin:cabinet_invitation_{page}")

    @operation(_("Send again: a new link, and earlier ones stop working"))
    def send_again(self, request: HttpRequest, rows: QuerySet[Invitation]) -> None:
        def send(row: Invitation) -> None:
            _invite(request, row)

        if self._apply(request, rows, send, gettext_noop("Invited again")):
            messages.info(request, _mail_note())

    @operation(_("Withdraw: the link stops working"))
    def withdraw(self, request: HttpRequest, rows: QuerySet[Invitation]) -> None:
        service = invitations.invitation_withdraw
        self._apply(request, rows, service, gettext_noop("Withdrawn"))


def _invite(request: HttpRequest, invitation: Invitation) -> Invitation:
    operator = request.user if isinstance(request.user, User) else None
    return invitations.invitation_create(invitation.email, by=operator)


def _mail_note() -> str:
    if settings.CONFIG.smtp_url:
        return gettext("The e-mail is on its way.")
    return gettext(
        "There is no mail server, so the server prints the e-mail to its terminal."
    )
