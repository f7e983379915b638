"""The operators' pages: find accounts and keys, shut them, see what they did.

Django's admin, made to look rather than to edit: what may change, changes by an
action that calls a service and leaves a line in the audit trail. A key itself is in
no column, so no page here can show it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from allauth.account.decorators import secure_admin_login
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.db.models import Model, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from readback.cabinet import selectors, services
from readback.cabinet.models import JournalEntry, Key, Usage, User

if TYPE_CHECKING:  # generic for the type checker alone
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class OperatorSite(admin.AdminSite):
    """The admin with no door of its own: login and password are the cabinet's."""

    site_header = site_title = "Readback"
    index_title = "Operators"

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        guarded = secure_admin_login(super().login)  # type: ignore[no-untyped-call]
        answer: HttpResponse = guarded(request, extra_context)
        return answer

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        return redirect("account_change_password")


operators = OperatorSite(name="admin")


class _Seen(_ModelAdmin):
    """Rows are looked at; nobody adds, edits or deletes them here."""

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
        """Actions ask for the right to change, though no form uses it."""
        name = f"{self.opts.app_label}.change_{self.opts.model_name}"
        return bool(request.user.has_perm(name))

    def _apply(
        self,
        request: HttpRequest,
        rows: QuerySet[Any],
        service: Callable[[Any], None],
        what: str,
    ) -> None:
        for row in rows:
            service(row)
            self.log_change(request, row, what)
        messages.success(request, f"{what}: {len(rows)}.")


@admin.register(User, site=operators)
class AccountAdmin(_Seen):
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
    actions = ("deactivate", "activate")

    @admin.display(boolean=True)
    def confirmed(self, account: User) -> bool:
        return selectors.account_is_confirmed(account)

    @admin.display
    def active_keys(self, account: User) -> int:
        return selectors.keys_active(account).count()

    @admin.action(
        description="Deactivate: keys stop, no login", permissions=["operate"]
    )
    def deactivate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        # Whoever shuts themselves out cannot undo it here.
        others = rows.exclude(email=request.user.get_username())
        self._apply(request, others, services.account_deactivate, "Deactivated")

    @admin.action(description="Activate again", permissions=["operate"])
    def activate(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        self._apply(request, rows, services.account_activate, "Activated")


@admin.register(Key, site=operators)
class KeyAdmin(_Seen):
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
        if key.revoked_at:
            return "revoked"
        return "expired" if key.is_expired else "active"

    @admin.display(description="requests accepted")
    def accepted(self, key: Key) -> int:
        return _requests(key, Q(code=""))

    @admin.display(description="requests refused")
    def refused(self, key: Key) -> int:
        return _requests(key, ~Q(code=""))

    @admin.action(description="Revoke, for good", permissions=["operate"])
    def revoke(self, request: HttpRequest, rows: QuerySet[Key]) -> None:
        self._apply(request, rows, services.key_revoke, "Revoked")


def _requests(key: Key, which: Q) -> int:
    found = Usage.objects.filter(which, key=key).aggregate(all=Sum("requests"))
    return found["all"] or 0


@admin.register(Usage, site=operators)
class UsageAdmin(_Seen):
    list_display = ("hour", "key", "owner", "endpoint", "outcome", "requests")
    list_filter = ("hour", "endpoint", "code")
    list_select_related = ("key__owner",)
    search_fields = ("key__owner__email", "key__last_four")
    ordering = ("-hour",)

    @admin.display
    def owner(self, cell: Usage) -> User:
        return cell.key.owner

    @admin.display
    def outcome(self, cell: Usage) -> str:
        return cell.code or "accepted"


@admin.register(JournalEntry, site=operators)
class JournalAdmin(_Seen):
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


@admin.register(LogEntry, site=operators)
class AuditAdmin(_Seen):
    """The audit trail: which operator did what, and when."""

    list_display = ("action_time", "user", "content_type", "object_repr", "said")
    list_filter = ("action_time", "content_type")
    list_select_related = ("user", "content_type")
    search_fields = ("user__email", "object_repr")
    fields = list_display

    @admin.display(description="what")
    def said(self, entry: LogEntry) -> str:
        return entry.get_change_message()
