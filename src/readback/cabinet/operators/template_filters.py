"""Filters for the operators' pages: numbers, and tables that a phone shows as lists."""

import re
from collections.abc import Iterable
from typing import Any

from django import template
from django.utils import translation
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

from readback.cabinet.operators.admin_names import NAMES

register = template.Library()
_CELL = re.compile(r"<t[dh]")


@register.filter
def grouped(number: int) -> str:
    """Return a number with separators: 12,345 in English, 12 345 in Russian."""
    return number_format(number, force_grouping=True)


@register.filter
def known_as(name: str) -> str:
    """Return what people call a table or a column that has this name in the code."""
    with translation.override("en"):  # Django has translated some of them already
        in_code = str(name).lower()
    return capfirst(str(NAMES.get(in_code, name)))


@register.filter
def named(cells: Iterable[str], headers: Iterable[dict[str, Any]]) -> list[SafeString]:
    """Return the cells of a row of Django's admin, each with the name of its column."""
    return [_named(cell, header) for cell, header in zip(cells, headers, strict=True)]


def _named(cell: str, header: dict[str, Any]) -> SafeString:
    if "action-checkbox" in header["class_attrib"]:  # its name is a box, too
        return mark_safe(cell)
    attribute = format_html(' data-name="{}"', known_as(header["text"]))
    # Django has escaped the cell, which is the HTML of one element.
    return mark_safe(_CELL.sub(lambda tag: tag[0] + attribute, cell, count=1))
