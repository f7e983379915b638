"""The operators' pages: find accounts and keys, deactivate or revoke them, see usage.

Django's admin, read-only: changes are made by actions, which call a service and write
an entry to the audit trail. No column holds a key, so no page here can show one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from allauth.account.decorators import secure_admin_login
from allauth.account.utils import get_next_redirect_url
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.db.models import Model, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from readback.cabinet import (
    second_factor_selectors,
    second_factor_services,
    selectors,
    services,
)
from readback.cabinet.models import JournalEntry, Key, Usage, User
from readback.cabinet.views import access

if TYPE_CHECKING:  # generic only for the type checker
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class OperatorSite(admin.AdminSite):
    """The admin site, which uses the cabinet's login and password pages."""

    site_header = site_title = "Readback"
    index_title = "Operators"

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether an operator is logged in, with a second factor if needed."""
        return super().has_permission(request) and not access.lacks_second_factor(
            request
        )

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.user.is_staff and access.lacks_second_factor(request):
            path = get_next_redirect_url(request) or reverse("admin:index")
            return access.ask_for_second_factor(request, path)
        login_view = secure_admin_login(super().login)  # type: ignore[no-untyped-call]
        response: HttpResponse = login_view(request, extra_context)
        return response

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        return redirect("account_change_password")


operator_site = OperatorSite(name="admin")


class ReadOnlyAdmin(_ModelAdmin):
    """Show rows without forms to add, change or delete them."""

    actions_on_bottom = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may run actions: they need the change permission."""
        name = f"{self.opts.app_label}.change_{self.opts.model_name}"
        return bool(request.user.has_perm(name))

    def _apply(
        self,
        request: HttpRequest,
        rows: QuerySet[Any],
        service: Callable[[Any], None],
        message: str,
    ) -> None:
        """Call the service for each row and write it to the audit trail."""
        for row in rows:
            service(row)
            self.log_change(request, row, message)
        messages.success(request, f"{message}: {len(rows)}.")


@admin.register(User, site=operator_site)
class AccountAdmin(ReadOnlyAdmin):
    list_display = (
        "email",
        "is_active",
        "confirmed",
        "active_keys",
        "date_joined",
        "last_login",
        "is_staff",
    )
    list_filter = ("is_active", "is_staff", "date_joined")
    search_fields = ("email",)
    ordering = ("-date_joined",)
    fields = (*list_display, "language")
    actions = ("deactivate", "activate", "reset_second_factor")

    @admin.display(boolean=True)
    def confirmed(self, account: User) -> bool:
        return selectors.account_is_confirmed(account)

    @admin.display
    def active_keys(self, account: User) -> int:
        return selectors.keys_active(account).count()

    @admin.action(
        description="Deactivate: stop its keys and block login",
        permissions=["operate"],
    )
    def deactivate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        # Operators who deactivate themselves could not log in to undo it.
        others = rows.exclude(email=request.user.get_username())
        self._apply(request, others, services.account_deactivate, "Deactivated")

    @admin.action(description="Activate", permissions=["operate"])
    def activate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        self._apply(request, rows, services.account_activate, "Activated")

    @admin.action(
        description="Reset the second factor: remove it and end all sessions",
        permissions=["operate"],
    )
    def reset_second_factor(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        factors = second_factor_selectors.FACTORS
        protected = rows.filter(authenticator__type__in=factors).distinct()
        reset = second_factor_services.second_factor_reset
        self._apply(request, protected, reset, "Second factor reset")


@admin.register(Key, site=operator_site)
class KeyAdmin(ReadOnlyAdmin):
    list_display = (
        "__str__",
        "owner",
        "label",
        "state",
        "created_at",
        "last_used_at",
    )
    list_filter = ("created_at", "revoked_at", "last_used_at")
    list_select_related = ("owner",)
    search_fields = ("owner__email", "label", "last_four")
    ordering = ("-created_at",)
    fields = (*list_display, "expires_at", "revoked_at", "accepted", "refused")
    actions = ("revoke",)

    @admin.display
    def state(self, key: Key) -> str:
        return str(key.state.label)

    @admin.display(description="requests accepted")
    def accepted(self, key: Key) -> int:
        return _count_requests(key, Q(code=""))

    @admin.display(description="requests refused")
    def refused(self, key: Key) -> int:
        return _count_requests(key, ~Q(code=""))

    @admin.action(description="Revoke permanently", permissions=["operate"])
    def revoke(self, request: HttpRequest, rows: QuerySet[Key]) -> None:
        self._apply(request, rows, services.key_revoke, "Revoked")


def _count_requests(key: Key, condition: Q) -> int:
    usage = Usage.objects.filter(condition, key=key)
    return usage.aggregate(total=Sum("requests"))["total"] or 0


@admin.register(Usage, site=operator_site)
class UsageAdmin(ReadOnlyAdmin):
    list_display = ("hour", "key", "owner", "endpoint", "outcome", "requests")
    list_filter = ("hour", "endpoint", "code")
    list_select_related = ("key__owner",)
    search_fields = ("key__owner__email", "key__last_four")
    ordering = ("-hour",)

    @admin.display
    def owner(self, usage: Usage) -> User:
        return usage.key.owner

    @admin.display
    def outcome(self, usage: Usage) -> str:
        return usage.outcome


@admin.register(JournalEntry, site=operator_site)
class JournalAdmin(ReadOnlyAdmin):
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
    list_filter = ("at", "accepted", "endpoint", "code")
    list_select_related = ("key__owner",)
    search_fields = ("key__owner__email", "key__last_four")
    ordering = ("-id",)

    @admin.display
    def owner(self, entry: JournalEntry) -> User:
        return entry.key.owner


@admin.register(LogEntry, site=operator_site)
class AuditAdmin(ReadOnlyAdmin):
    """The audit trail: which operator did what, and when."""

    list_display = ("action_time", "user", "content_type", "object_repr", "change")
    list_filter = ("action_time", "content_type")
    list_select_related = ("user", "content_type")
    search_fields = ("user__email", "object_repr")
    fields = list_display

    @admin.display
    def change(self, entry: LogEntry) -> str:
        return entry.get_change_message()
