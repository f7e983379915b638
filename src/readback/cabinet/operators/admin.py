"""The operators' pages: find accounts and keys, deactivate or revoke them, see usage.

Django's admin, read-only: changes are made by actions, which call a service and write
an entry to the audit trail. No column holds a key, so no page here can show one.
"""

from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.account.utils import get_next_redirect_url
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import yesno
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import selectors as account_selectors
from readback.cabinet.accounts import services as account_services
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.keys import services as key_services
from readback.cabinet.models import JournalEntry, Key, Usage, User
from readback.cabinet.operators import admin_lists as filters
from readback.cabinet.operators import overview
from readback.cabinet.operators.admin_lists import ReadOnlyAdmin, operation
from readback.cabinet.second_factor import login as second_factor_login
from readback.cabinet.second_factor import services as second_factor_services
from readback.cabinet.single_sign_on import services as single_sign_on_services


class OperatorSite(admin.AdminSite):
    """The admin site, which uses the cabinet's login and password pages."""

    site_header = site_title = "Readback"
    index_title = _("Overview")
    index_template = "operators/overview.html"

    def index(self, request: HttpRequest, *_: Any, **__: Any) -> TemplateResponse:
        return super().index(request, overview.context(request))

    def app_index(self, request: HttpRequest, *_: Any, **__: Any) -> Any:
        return redirect("admin:index")

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return super().each_context(request) | {"nav": "operators"}

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether an operator is logged in, with a second factor if needed."""
        is_allowed = super().has_permission(request)
        return is_allowed and not second_factor_login.lacks_second_factor(request)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.user.is_staff and second_factor_login.lacks_second_factor(request):
            path = get_next_redirect_url(request) or reverse("admin:index")
            return second_factor_login.ask_for_second_factor(request, path)
        login_view = secure_admin_login(super().login)  # type: ignore[no-untyped-call]
        response: HttpResponse = login_view(request, extra_context)
        return response

    def password_change(self, request: HttpRequest, *_: Any, **__: Any) -> Any:
        return redirect("account_change_password")


operator_site = OperatorSite(name="admin")


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

    @admin.display(description=_("outcome"))
    def outcome(self, usage: Usage) -> str:
        return usage.outcome


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
