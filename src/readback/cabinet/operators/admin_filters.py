"""The filters of the operators' lists, to which the overview links.

Their choices are fixed. Django's own filters read them from the table, which takes long
if the table is large.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from readback.cabinet.models import Key, KeyState, key_is_active
from readback.contract import REFUSALS

_WEEK = timedelta(days=7)


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
    """By the code of a refusal."""

    title, parameter_name = _("code"), "code"
    choice_list = (
        ("accepted", _("accepted"), lambda: Q(code="")),
        *((code, code, lambda code=code: Q(code=code)) for code in REFUSALS),
    )
