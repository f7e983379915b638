"""Filters for the operators' pages: numbers, and entries of the audit trail."""

from django import template
from django.contrib.admin.models import LogEntry
from django.utils.formats import number_format
from django.utils.translation import gettext

from readback.cabinet.operators import audit

register = template.Library()


@register.filter
def grouped(number: int) -> str:
    """Return a number with separators: 12,345 in English, 12 345 in Russian."""
    return number_format(number, force_grouping=True)


@register.filter
def change(entry: LogEntry) -> str:
    """Return what an entry of the audit trail says, which is stored in English."""
    return gettext(audit.change_of(entry))
