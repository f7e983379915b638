"""What operators write to people: announcements above every page, and invitations."""

from functools import partial
from typing import Any

from allauth.core import context as allauth_context
from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import invitations
from readback.cabinet.accounts.forms import NoLabelSuffixForm, service_errors
from readback.cabinet.accounts.invitations import InvitationOutcome
from readback.cabinet.models import ANNOUNCEMENT_LENGTH, Announcement, Invitation, User
from readback.cabinet.operators.admin_site import Operation, ReadOnlyAdmin
from readback.cabinet.serving import announcements
from readback.contract import INVITATION_DAYS


def _line(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=ANNOUNCEMENT_LENGTH,
        widget=forms.TextInput,
    )


def _time(label: Any) -> forms.DateTimeField:
    # The browser's own control; Django's would need its scripts.
    options = {"type": "datetime-local"}
    widget = forms.DateTimeInput(options, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, widget=widget)


class AnnouncementForm(forms.ModelForm):  # type: ignore[type-arg]
    text_en, text_ru = _line(_("Text in English")), _line(_("Text in Russian"))
    starts_at, ends_at = _time(_("From (UTC)")), _time(_("Until (UTC)"))

    class Meta:
        model = Announcement
        fields = ("text_en", "text_ru", "level", "starts_at", "ends_at")
        labels = {"level": _("Level")}  # noqa: RUF012

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if not values.get("text_en") and not values.get("text_ru"):
            raise ValidationError(gettext("Write the text in at least one language."))
        start, end = values.get("starts_at"), values.get("ends_at")
        if start and end and end <= start:
            self.add_error("ends_at", gettext("The end must be after the beginning."))
        return values


def _end(row: Announcement) -> None:
    row.ends_at = timezone.now()
    row.save(update_fields=["ends_at"])
    announcements.forget()


class AnnouncementAdmin(ReadOnlyAdmin):
    list_display = ("text", "level", "starts_at", "ends_at")
    form = AnnouncementForm
    operations = {
        "end": Operation(
            _("End now"),
            _("It is no longer shown."),
            _end,
            gettext_noop("Ended"),
            lambda rows: rows.filter(ends_at__gt=timezone.now()),
        ),
    }

    @admin.display(description=_("text"))
    def text(self, row: Announcement) -> str:
        return " / ".join(filter(None, (row.text_en, row.text_ru)))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_operate_permission(request)

    has_change_permission = has_add_permission

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"starts_at": timezone.now().replace(second=0)}

    def changeform_view(
        self, request: HttpRequest, object_id: Any = None, form_url: str = "", *_: Any
    ) -> HttpResponse:
        title = gettext("Announcement")
        context = {"title": title, "subtitle": None, "show_save_and_continue": False}
        context["show_save_and_add_another"] = False
        return super().changeform_view(request, object_id, form_url, context)

    def save_model(
        self, request: HttpRequest, obj: Announcement, form: Any, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        announcements.forget()


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
