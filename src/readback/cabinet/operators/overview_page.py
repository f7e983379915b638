"""The operators' overview, which is the index of the admin: figures, health, versions.

The admin site checks the access, as for all its pages.
"""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from readback.cabinet.keys import refusals
from readback.cabinet.models import Key, Usage, User
from readback.cabinet.operators import installation, overview
from readback.cabinet.operators.api_status import ApiQuestion
from readback.cabinet.serving.worker import LIFECYCLE
from readback.contract import REFUSALS, UNMATCHED_SECONDS

# The name of the count, its words, and the filter of the list that shows the rows.
_ACCOUNTS = (
    ("total", _("in total"), ""),
    ("confirmed", _("with a confirmed address"), "confirmed=yes"),
    ("active", _("active in the last 30 days"), "active=30"),
    ("new", _("new in the last 7 days"), "joined=7"),
)
_KEYS = (
    ("active", _("active now"), "state=active"),
    ("used_in_a_day", _("used in the last 24 hours"), "used=1"),
    ("used_in_a_month", _("used in the last 30 days"), "used=30"),
    ("expiring", _("expire within 7 days"), "state=expiring"),
    ("revoked", _("revoked in total"), "state=revoked"),
)


class LinkedCount(NamedTuple):
    number: int
    words: str
    url: str


def context(request: HttpRequest) -> dict[str, object]:
    """Return the context of cabinet/overview.html."""
    # The API is asked while the database counts.
    question = ApiQuestion(settings.CONFIG.ops_bind)
    figures = overview.figures()
    return {
        "figures": figures,
        "accounts": _linked(request, User, figures.accounts, _ACCOUNTS),
        "keys": _linked(request, Key, figures.keys, _KEYS),
        "mails": _mails(figures.mails),
        "usage_url": _list_url(request, Usage),
        "differences": [
            (counted, refusals.advice(counted.difference))
            for counted in figures.differences
        ],
        # An older release may have written a code that the page of errors lacks.
        "documented_codes": REFUSALS,
        "minutes": UNMATCHED_SECONDS // 60,
        "rows_searched": overview.JOURNAL_ROWS_SEARCHED,
        "versions": installation.versions(),
        "since": _started_at(request),
        "api": question.report(),
    }


def _linked(
    request: HttpRequest,
    model: type[Model],
    counts: NamedTuple,
    rows: tuple[tuple[str, Any, str], ...],
) -> list[LinkedCount]:
    url = _list_url(request, model)
    return [
        LinkedCount(getattr(counts, name), words, url and f"{url}?{query}".rstrip("?"))
        for name, words, query in rows
    ]


def _mails(mails: overview.MailCounts) -> list[LinkedCount]:
    counts = (
        (mails.waiting, _("waiting")),
        (mails.failed, _("of them failed, to be tried again")),
        (mails.outcomes["sent"], _("sent")),
        (mails.outcomes["refused"], _("refused by the mail server")),
        (mails.outcomes["expired"], _("expired before they could be sent")),
        (mails.outcomes["unneeded"], _("no longer needed")),
    )
    return [LinkedCount(number, str(words), "") for number, words in counts]


def _list_url(request: HttpRequest, model: type[Model]) -> str:
    """Return the URL of a list; empty if the operator may not see it."""
    label, name = model._meta.app_label, model._meta.model_name
    allowed = request.user.has_perm(f"{label}.view_{name}")
    return reverse(f"admin:{label}_{name}_changelist") if allowed else ""


def _started_at(request: HttpRequest) -> datetime | None:
    lifecycle = request.META.get(LIFECYCLE)
    if lifecycle is None:  # not served by our worker
        return None
    return datetime.fromtimestamp(lifecycle.started_at, UTC)
