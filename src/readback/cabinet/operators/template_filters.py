"""Filters for the operators' pages: numbers, and tables that a phone shows as lists."""

from collections.abc import Iterable
from typing import Any

from django import template
from django.contrib.admin.models import LogEntry
from django.utils import translation
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

register = template.Library()
# What the admin calls tables and columns. Django shows their names in the code, in
# English. Names that it translates itself, and those that a list defines for itself,
# are not here.
_NAMES = {
    "users": _("accounts"),
    "keys": _("keys"),
    "usage": _("usage"),
    "journal entries": _("journal"),
    "invitations": _("invitations"),
    "log entries": _("audit trail"),
    "email": _("e-mail address"),
    "is active": _("active"),
    "is staff": _("operator"),
    "date joined": _("joined"),
    "language": _("language"),
    "action time": _("time"),
    "user": _("operator"),
    "content type": _("table"),
    "object repr": _("object"),
    "key": _("key"),
    "label": _("name"),
    "owner": _("owner"),
    "created at": _("created"),
    "expires at": _("expires"),
    "revoked at": _("revoked"),
    "replaced by": _("new key"),
    "last used at": _("last used"),
    "hour": _("hour"),
    "endpoint": _("endpoint"),
    "code": _("code"),
    "outcome": _("outcome"),
    "requests": _("requests"),
    "at": _("time"),
    "status": _("status"),
    "detail": _("detail"),
    "accepted": _("accepted"),
    "differences": _("differences"),
    "request bytes": _("bytes in"),
    "answer bytes": _("bytes out"),
    "user agent": _("program"),
    "client address": _("network"),
    "invited by": _("invited by"),
    "accepted at": _("accepted"),
}


@register.filter
def grouped(number: int) -> str:
    """Return a number with separators: 12,345 in English, 12 345 in Russian."""
    return number_format(number, force_grouping=True)


@register.filter
def known_as(name: str) -> str:
    """Return what people call a table or a column that has this name in the code."""
    with translation.override("en"):  # Django has translated some of them already
        in_code = str(name).lower()
    return capfirst(str(_NAMES.get(in_code, name)))


@register.filter
def change(entry: LogEntry) -> str:
    """Return what an entry of the audit trail says, which is stored in English."""
    return gettext(entry.get_change_message())


@register.filter
def named(cells: Iterable[str], headers: Iterable[dict[str, Any]]) -> list[SafeString]:
    """Return the cells of a row of Django's admin, each with the name of its column."""
    result = []
    for cell, header in zip(cells, headers, strict=True):
        if "action-checkbox" not in header["class_attrib"]:  # its name is a box, too
            name = format_html(' data-name="{}"', known_as(header["text"]))
            # Django has escaped the cell, which begins with <td or <th.
            cell = cell[:3] + name + cell[3:]
        result.append(mark_safe(cell))
    return result
