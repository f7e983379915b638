"""The operators' admin site, and what the lists in `admin.py` share."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple, cast

from allauth.account.decorators import reauthentication_required, secure_admin_login
from allauth.account.utils import get_next_redirect_url
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.forms import Media
from django.http import Http404, HttpRequest
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts import second_factor
from readback.cabinet.accounts.services import ServiceError, audit_record
from readback.cabinet.models import Key, KeyState, User, key_is_active
from readback.cabinet.operators import overview

# An operation changes at most this many rows at once: the newest ones.
MAX_ROWS = 1000
# Keeps a page below 60 KB, even in Russian and with long addresses.
_ROWS_PER_PAGE = 18
NOTHING_TO_DO = _("There is nothing to do for any of the selected rows.")


class OperatorSite(admin.AdminSite):
    """The admin site, which uses the cabinet's login and password pages."""

    index_title = _("Overview")
    enable_nav_sidebar = False
    index_template = "operators/overview.html"

    def index(self, request: HttpRequest, *_: Any, **__: Any) -> TemplateResponse:
        return super().index(request, {"figures": overview.figures()})

    def app_index(self, request: HttpRequest, *_: Any, **__: Any) -> Any:
        return redirect("admin:index")

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether an operator is logged in, with a second factor if required."""
        is_allowed = super().has_permission(request)
        return is_allowed and not second_factor.lacks_second_factor(request)

    def login(self, request: HttpRequest, extra_context: Any = None) -> Any:
        if request.user.is_staff and second_factor.lacks_second_factor(request):
            path = get_next_redirect_url(request) or reverse("admin:index")
            return second_factor.ask_for_second_factor(request, path)
        login_view = secure_admin_login(super().login)  # type: ignore[no-untyped-call]
        return login_view(request, extra_context)

    def password_change(self, request: HttpRequest, *_: Any, **__: Any) -> Any:
        return redirect("account_change_password")


class Operation(NamedTuple):
    """An action that operators can apply to rows of a list.

    An account's page has a button for each operation that applies.
    """

    title: Any
    # For the page that asks for confirmation.
    consequence: Any
    service: Callable[[Any], object]
    # For the audit trail, in English.
    message: str
    # The rows to which it applies.
    rows: Callable[[QuerySet[Any]], QuerySet[Any]] = lambda rows: rows
    # Operators cannot do this to themselves: they could not log in to undo it.
    is_for_others: bool = False
    # It cannot be undone.
    is_final: bool = False


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Show rows without forms to add, change or delete them.

    The newest rows come first. Lists cannot be sorted in another way, so that a page
    reads only the rows that it shows; it counts the others. All changes are
    `operations`, which need a recent login.
    """

    operations: dict[str, Operation] = {}
    # Our templates need none of Django's scripts.
    media = Media()

    ordering = ("-pk",)
    sortable_by = ()
    list_per_page = list_max_show_all = _ROWS_PER_PAGE
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {
            name: (ReadOnlyAdmin._operate, name, operation.title)
            for name, operation in self.operations.items()
        }

    def change_view(self, *_: Any, **__: Any) -> Any:
        raise Http404

    # The audit trail replaces Django's history.
    history_view = change_view

    @method_decorator(reauthentication_required(allow_get=True))
    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        return super().changelist_view(request, *args, **options)

    def _operate(
        self, request: HttpRequest, rows: QuerySet[Any]
    ) -> TemplateResponse | None:
        """Ask for confirmation, then apply an operation to the selected rows.

        The confirmation contains the ids of all rows in a single field, because a whole
        list may have more rows than a form may have fields.
        """
        name = request.POST["action"]
        operation = self.operations[name]
        if asked := re.findall(r"\d+", request.POST.get("rows", "")):
            rows = rows.filter(pk__in=asked)
        rows = self._rows_for(operation, request, rows)
        if "confirmed" in request.POST:
            self._apply(request, rows, operation)
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": operation.title,
            "operation": operation,
            "name": name,
            "rows": rows[:MAX_ROWS],
            "nothing_to_do": NOTHING_TO_DO,
        }
        return TemplateResponse(request, "operators/operate.html", context)

    def _rows_for(
        self, operation: Operation, request: HttpRequest, rows: QuerySet[Any]
    ) -> QuerySet[Any]:
        rows = operation.rows(rows).distinct()
        return rows.exclude(pk=request.user.pk) if operation.is_for_others else rows

    def operations_for(self, request: HttpRequest, row: Any) -> list[Any]:
        alone = self.model._default_manager.filter(pk=row.pk)
        return [
            (name, operation)
            for name, operation in self.operations.items()
            if self._rows_for(operation, request, alone).exists()
        ]

    def _apply(
        self, request: HttpRequest, rows: QuerySet[Any], operation: Operation
    ) -> None:
        """Change each row and record it in the audit trail, in one transaction per row.

        Report which rows could not be changed, and why.
        """
        changed = 0
        # Read all rows now, because a change may remove a row from the query's result.
        selected = list(rows)
        for row in selected:
            try:
                with transaction.atomic():
                    # Recorded before the change, because a deleted row has no id.
                    by = cast(User, request.user)
                    audit_record(by, row, operation.message)
                    operation.service(row)
            except ServiceError as error:
                messages.error(request, f"{row}: {error}")
            else:
                changed += 1
        if not selected:  # another operator was faster
            messages.warning(request, NOTHING_TO_DO)
        elif changed:
            messages.success(request, f"{gettext(operation.message)}: {changed}.")


class ChoiceFilter(admin.SimpleListFilter):
    """A filter by conditions, each with its value in the URL and its title."""

    conditions: tuple[tuple[str, Any, Callable[[], Q]], ...]

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(value, title) for value, title, _condition in self.conditions]

    def queryset(self, request: Any, queryset: QuerySet[Any]) -> QuerySet[Any]:
        for value, _title, condition in self.conditions:
            if value == self.value():
                return queryset.filter(condition())
        return queryset


def _active_within(period: timedelta) -> Q:
    """Select accounts with a login or a request in this period."""
    start = timezone.now() - period
    used = Key.objects.filter(owner=OuterRef("pk"), last_used_at__gte=start)
    return Q(last_login__gte=start) | Q(Exists(used))


def _inactive_for(period: timedelta) -> Q:
    """Select older accounts with no login, request or new key in this period."""
    start = timezone.now() - period
    new_key = Key.objects.filter(owner=OuterRef("pk"), created_at__gte=start)
    return Q(date_joined__lt=start) & ~_active_within(period) & ~Q(Exists(new_key))


class LastActiveFilter(ChoiceFilter):
    title = _("last active")
    parameter_name = "active"
    conditions = (
        ("30", _("last 30 days"), lambda: _active_within(timedelta(days=30))),
        (
            "not-90",
            _("more than 90 days ago"),
            lambda: _inactive_for(timedelta(days=90)),
        ),
    )


def _expires_within(period: timedelta) -> Q:
    return Q(revoked_at=None, expires_at__lte=timezone.now() + period)


class StateFilter(ChoiceFilter):
    title = _("state")
    parameter_name = "state"
    conditions = (
        ("active", KeyState.ACTIVE.label, key_is_active),
        (
            "expiring",
            _("expires within 7 days"),
            lambda: key_is_active() & _expires_within(timedelta(days=7)),
        ),
        ("expired", KeyState.EXPIRED.label, lambda: _expires_within(timedelta())),
        ("revoked", KeyState.REVOKED.label, lambda: Q(revoked_at__isnull=False)),
    )
