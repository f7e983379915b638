"""The operators' admin site, and what its lists share: read-only, short, with filters.

Each list is in `admin.py`.
The choices of a filter are fixed. Django's own filters read them from the table, which
takes long if the table is large.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from django.conf import settings
from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.models import Key, KeyState, key_is_active
from readback.cabinet.operators import overview
from readback.cabinet.second_factor import login as second_factor_login
from readback.cabinet.single_sign_on import leavers
from readback.contract import REFUSALS

# Longer lists are cut off: counting a million rows or reading a late page takes long.
MAX_ROWS = 1000
# Keeps a page with long rows below its limit of 60 KB.
_ROWS_PER_PAGE = 20

_WEEK = timedelta(days=7)


class OperatorSite(admin.AdminSite):
    """The admin site, which uses the cabinet's login and password pages."""

    index_title = _("Overview")
    index_template = "operators/overview.html"

    def index(self, request: HttpRequest, *_: Any, **__: Any) -> TemplateResponse:
        return super().index(request, overview.context(request))

    def app_index(self, request: HttpRequest, *_: Any, **__: Any) -> Any:
        return redirect("admin:index")

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        own = {"nav": "operators", "site_title": settings.BRAND.name}
        return super().each_context(request) | own

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether an operator is logged in, with a second factor if needed."""
        is_allowed = super().has_permission(request)
        return is_allowed and not second_factor_login.lacks_second_factor(request)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.user.is_staff and second_factor_login.lacks_second_factor(request):
            path = get_next_redirect_url(request) or reverse("admin:index")
            return second_factor_login.ask_for_second_factor(request, path)
        login_view = secure_admin_login(super().login)  # type: ignore[no-untyped-call]
        response: HttpResponse = login_view(request, extra_context)
        return response

    def password_change(self, request: HttpRequest, *_: Any, **__: Any) -> Any:
        return redirect("account_change_password")


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts and shows at most MAX_ROWS rows."""

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        return rows[:MAX_ROWS].count()

    @property
    def is_cut_off(self) -> bool:
        return self.count == MAX_ROWS


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Show rows without forms to add, change or delete them.

    The newest rows come first and nothing else can be sorted by, so that a list reads
    only the rows that it shows.
    """

    actions_on_bottom = False
    # They would need Django's scripts, which are larger than the rest of the page.
    actions_selection_counter = False
    ordering = ("-pk",)
    sortable_by = ()
    paginator = BoundedPaginator
    list_per_page = list_max_show_all = _ROWS_PER_PAGE
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission

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
    ) -> int:
        """Call the service for each row and write it to the audit trail, in English.

        A change and its entry are one transaction. Say which rows could not be changed
        and why; return how many were.
        """
        changed = 0
        for row in rows:
            try:
                with transaction.atomic():
                    service(row)
                    self.log_change(request, row, message)
            except ServiceError as error:
                messages.error(request, f"{row}: {error}")
            else:
                changed += 1
        if changed or not rows:
            messages.success(request, f"{gettext(message)}: {changed}.")
        return changed


def operation(title: Any) -> Callable[[Any], Any]:
    """Return a decorator for actions, which need the permission to change rows."""
    return admin.action(description=title, permissions=["operate"])


class ChoiceFilter(admin.SimpleListFilter):
    """A filter with fixed choices: the value in the URL, the title, the condition."""

    choice_list: Iterable[tuple[str, Any, Callable[[], Q]]]

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(value, title) for value, title, _condition in self.choice_list]

    def queryset(self, request: Any, queryset: QuerySet[Any]) -> QuerySet[Any]:
        for value, _title, condition in self.choice_list:
            if value == self.value():
                return queryset.filter(condition())
        return queryset


def _periods(since: Callable[[datetime], Q]) -> Iterable[Any]:
    """Return the choices of a filter by how long ago something happened."""
    for days, title in (
        (1, _("last 24 hours")),
        (7, _("last 7 days")),
        (30, _("last 30 days")),
    ):
        age = timedelta(days=days)
        yield str(days), title, lambda age=age: since(timezone.now() - age)


def _confirmed() -> Q:
    address = EmailAddress.objects.filter(user=OuterRef("pk"))
    return Q(Exists(address.filter(primary=True, verified=True)))


def _active_since(start: datetime) -> Q:
    used = Key.objects.filter(owner=OuterRef("pk"), last_used_at__gte=start)
    return Q(last_login__gte=start) | Q(Exists(used))


class JoinedFilter(ChoiceFilter):
    title, parameter_name = _("joined"), "joined"
    choice_list = tuple(_periods(lambda start: Q(date_joined__gte=start)))


class ActiveFilter(ChoiceFilter):
    """By the last login, or the last request with one of the account's keys."""

    title, parameter_name = _("last active"), "active"
    choice_list = tuple(_periods(_active_since))


class ConfirmedFilter(ChoiceFilter):
    title, parameter_name = _("confirmed"), "confirmed"
    choice_list = (
        ("yes", _("yes"), _confirmed),
        ("no", _("no"), lambda: ~_confirmed()),
    )


class LeaverFilter(ChoiceFilter):
    """By whether people were told, or deactivated, who no longer log in there."""

    title, parameter_name = _("leaver"), "leaver"
    choice_list = (
        ("told", _("told"), lambda: Q(pk__in=leavers.waiting())),
        ("left", _("deactivated"), lambda: Q(pk__in=leavers.left())),
    )


class StateFilter(ChoiceFilter):
    title, parameter_name = _("state"), "state"
    choice_list = (
        (KeyState.ACTIVE.value, KeyState.ACTIVE.label, key_is_active),
        (
            "expiring",
            _("expires within 7 days"),
            lambda: key_is_active() & Q(expires_at__lte=timezone.now() + _WEEK),
        ),
        (
            KeyState.EXPIRED.value,
            KeyState.EXPIRED.label,
            lambda: Q(revoked_at=None, expires_at__lte=timezone.now()),
        ),
        (
            KeyState.REVOKED.value,
            KeyState.REVOKED.label,
            lambda: Q(revoked_at__isnull=False),
        ),
    )


class UsedFilter(ChoiceFilter):
    title, parameter_name = _("last used"), "used"
    choice_list = tuple(_periods(lambda start: Q(last_used_at__gte=start)))


class HourFilter(ChoiceFilter):
    title, parameter_name = _("time"), "time"
    choice_list = tuple(_periods(lambda start: Q(hour__gte=start)))


class CodeFilter(ChoiceFilter):
    title, parameter_name = _("code"), "code"
    choice_list = (
        ("accepted", _("accepted"), lambda: Q(code="")),
        *((code, code, lambda code=code: Q(code=code)) for code in REFUSALS),
    )
