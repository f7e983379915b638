"""The operators' lists: accounts, keys, usage, journal, invitations, audit trail.

Django's admin, read-only: changes are made by actions, which call a service and write
an entry to the audit trail. No column holds a key, so no page here can show one.
"""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import yesno
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import invitations
from readback.cabinet.accounts import selectors as account_selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.accounts.forms import NormalisedEmailField
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import (
    Announcement,
    Invitation,
    JournalEntry,
    Key,
    Usage,
    User,
)
from readback.cabinet.operators import admin_site as filters
from readback.cabinet.operators.admin_site import OperatorSite, ReadOnlyAdmin, operation
from readback.cabinet.operators.announcements import AnnouncementAdmin
from readback.cabinet.second_factor import services as second_factor_services
from readback.cabinet.single_sign_on import services as single_sign_on_services
from readback.contract import INVITATION_DAYS

operator_site = OperatorSite(name="admin")
operator_site.register(Announcement, AnnouncementAdmin)


@admin.register(User, site=operator_site)
class AccountAdmin(ReadOnlyAdmin):
    list_display = (
        "email",
        "active",
        "confirmed",
        "active_keys",
        "date_joined",
        "last_login",
        "operator",
    )
    list_filter = (
        "is_active",
        filters.ConfirmedFilter,
        filters.ActiveFilter,
        filters.JoinedFilter,
        "is_staff",
        filters.LeaverFilter,
    )
    search_fields = ("email",)
    search_help_text = _("By e-mail address.")
    fields = (*list_display, "language")
    actions = ("deactivate", "activate", "reset_second_factor", "disconnect")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return account_selectors.accounts_with_state().order_by(*self.ordering)

    @admin.display(description=_("active"))
    def active(self, account: User) -> str:
        return str(yesno(account.is_active))

    @admin.display(description=_("confirmed"))
    def confirmed(self, account: User) -> str:
        return str(yesno(account.is_confirmed))  # type: ignore[attr-defined]

    @admin.display(description=_("active keys"))
    def active_keys(self, account: User) -> str:
        return number_format(account.key_count)  # type: ignore[attr-defined]

    @admin.display(description=_("operator"))
    def operator(self, account: User) -> str:
        return str(yesno(account.is_staff))

    @operation(_("Deactivate: stop its keys and block login"))
    def deactivate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        # Operators who deactivate themselves could not log in to undo it.
        others = rows.exclude(email=request.user.get_username())
        message = gettext_noop("Deactivated")
        self._apply(request, others, account_services.account_deactivate, message)

    @operation(_("Activate"))
    def activate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        message = gettext_noop("Activated")
        self._apply(request, rows, account_services.account_activate, message)

    @operation(_("Reset the second factor: remove it and end all sessions"))
    def reset_second_factor(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        factors = account_selectors.FACTORS
        protected = rows.filter(authenticator__type__in=factors).distinct()
        reset = second_factor_services.second_factor_reset
        self._apply(request, protected, reset, gettext_noop("Second factor reset"))

    @operation(_("Disconnect from single sign-on: end all sessions"))
    def disconnect(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        connected = rows.filter(socialaccount__isnull=False).distinct()
        service = single_sign_on_services.account_disconnect
        self._apply(request, connected, service, gettext_noop("Disconnected"))


@admin.register(Key, site=operator_site)
class KeyAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "owner", "label", "state", "created_at", "last_used_at")
    list_filter = (filters.StateFilter, filters.UsedFilter)
    list_select_related = ("owner",)
    search_fields = ("owner__email", "label", "last_four")
    search_help_text = _("By e-mail address, name or last four characters of a key.")
    fields = (
        *list_display,
        "expires_at",
        "revoked_at",
        "replaced_by",
        "replaces",
        "accepted",
        "refused",
    )
    actions = ("revoke",)

    @admin.display(description=_("state"))
    def state(self, key: Key) -> SafeString:
        # As the owner sees it: of a rotated pair, both are active.
        return render_to_string("keys/key_state.html", {"key": key})

    @admin.display(description=_("old key"))
    def replaces(self, key: Key) -> str:
        return str(key_selectors.key_replaced_by(key) or self.get_empty_value_display())

    @admin.display(description=_("requests accepted"))
    def accepted(self, key: Key) -> str:
        return _count_requests(key, Q(code=""))

    @admin.display(description=_("requests refused"))
    def refused(self, key: Key) -> str:
        return _count_requests(key, ~Q(code=""))

    @operation(_("Revoke permanently"))
    def revoke(self, request: HttpRequest, rows: QuerySet[Key]) -> None:
        self._apply(request, rows, key_services.key_revoke, gettext_noop("Revoked"))


def _count_requests(key: Key, condition: Q) -> str:
    usage = Usage.objects.filter(condition, key=key)
    total = usage.aggregate(total=Sum("requests"))["total"] or 0
    return number_format(total, force_grouping=True)


class KeyRowAdmin(ReadOnlyAdmin):
    list_select_related = ("key__owner",)
    search_fields = ("key__owner__email", "key__last_four")
    search_help_text = _("By e-mail address or last four characters of a key.")

    @admin.display(description=_("owner"))
    def owner(self, row: Usage | JournalEntry) -> User:
        return row.key.owner


@admin.register(Usage, site=operator_site)
class UsageAdmin(KeyRowAdmin):
    list_display = ("hour", "key", "owner", "endpoint", "outcome", "requests")
    list_filter = (filters.HourFilter, filters.CodeFilter, "endpoint")


@admin.register(JournalEntry, site=operator_site)
class JournalAdmin(KeyRowAdmin):
    list_display = (
        "at",
        "key",
        "owner",
        "endpoint",
        "status",
        "code",
        "detail",
        "requests",
    )
    list_filter = (filters.CodeFilter, "accepted", "endpoint")


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

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
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


@admin.register(LogEntry, site=operator_site)
class AuditAdmin(ReadOnlyAdmin):
    """The audit trail: which operator did what, and when."""

    list_display = ("action_time", "user", "content_type", "object_repr", "change")
    list_filter = ("content_type",)
    list_select_related = ("user", "content_type")
    search_fields = ("user__email", "object_repr")
    search_help_text = _("By e-mail address or name of the object.")
    fields = list_display

    @admin.display(description=_("change"))
    def change(self, entry: LogEntry) -> str:
        return gettext(entry.get_change_message())
