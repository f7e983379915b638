"""What the operators' lists have in common: read-only, newest first, of bounded length.

Only what all of Django's `ModelAdmin`s share lives here; each list is in `admin.py`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext

from readback.cabinet.accounts.services import ServiceError

# Longer lists are cut off: counting a million rows or reading a late page takes long.
MAX_ROWS = 1000
# Keeps a page with long rows below its limit of 60 KB.
_ROWS_PER_PAGE = 20

if TYPE_CHECKING:  # generic only for the type checker
    _ModelAdmin = admin.ModelAdmin[Any]
    _Paginator = Paginator[Any]
else:
    _ModelAdmin = admin.ModelAdmin
    _Paginator = Paginator


class BoundedPaginator(_Paginator):
    """Counts and shows at most MAX_ROWS rows."""

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        return rows[:MAX_ROWS].count()

    @property
    def is_cut_off(self) -> bool:
        return self.count == MAX_ROWS


class ReadOnlyAdmin(_ModelAdmin):
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
