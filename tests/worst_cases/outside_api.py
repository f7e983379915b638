"""The worst shapes of input for the cabinet, the commands and the shared modules.

Each row is a place that a stranger or a user can reach. It runs the real code in this
process, without a server or a database, whether it accepts the text or not.
`test_work.py` counts the work. Most limits are smaller than the real ones, so that
counting takes less time: a quarter of a form is enough to notice quadratic growth.

Django's parsers, operators' files and settings are not included, nor is input that one
of our limits bounds: the CBOR of a passkey (48 KiB, 0.07 s), whose parser takes more
than linear time, and passwords. tests/cabinet/accounts/test_passwords.py counts the
work of estimating how strong a password is.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from io import BytesIO
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

from readback import client_address, keys, programs
from tests.support.commands import environment_with
from tests.worst_cases.counting import WorstCase

# The maximum sizes in bytes of a form, of a head, and of a field of a head.
_FORM = 16_384
_HEAD = 16_384
_FIELD = 8_190
_REFUSALS = (ValueError, OSError, RecursionError)


def repeat(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return a function that repeats a unit to a size, between two other strings."""

    def make(size: int) -> str:
        return before + (unit * (size // len(unit) + 1))[:size] + after

    return make


def _rows(
    name: str,
    run: Callable[[Any], object] | str,
    limit: int,
    *units: str,
    before: str = "",
    after: str = "",
) -> Iterator[WorstCase]:
    for unit in units:
        shape = f"{name}: {before[-12:]!r} {unit[:30]!r} {after[:12]!r}"
        make = repeat(unit, before, after)
        yield WorstCase(shape, partial(_attempt, run), make, limit)


def _attempt(run: Callable[[Any], object] | str, text: Any) -> None:
    """Call a function, which is given by its name if it imports Django."""
    _set_up_django()
    from django.core.exceptions import SuspiciousOperation, ValidationError

    from readback.cabinet.accounts.services import ServiceError

    function = resolve_name(run) if isinstance(run, str) else run
    with suppress(*_REFUSALS, ValidationError, SuspiciousOperation, ServiceError):
        function(text)


def _addresses() -> Iterator[WorstCase]:
    """Yield cases for the addresses, keys and programs in a head."""
    units = (",", "1,", ":", "[", "[1]:1")
    yield from _rows("X-Forwarded-For", _forwarded_address, _HEAD, *units)
    yield from _rows("network", client_address.network, _HEAD, "1", ":", "%")
    hide = partial(keys.KEY_LIKE.sub, "")
    yield from _rows("key-like", hide, _HEAD, "sk-", "AIza", "-", "a")
    agents = ("a", "OpenAI/", "Python/", "ai-sdk-openai-compatible/")
    yield from _rows("User-Agent", programs.recognise, _FIELD, *agents)


def _forwarded_address(header: str) -> object:
    entry = client_address.forwarded_entry(header, trusted_proxies=8)
    return entry and client_address.address_in(entry)


def _forms() -> Iterator[WorstCase]:
    """Yield cases for what people may type into a form."""
    units = ("a", "@", "a@", ",", "\n", '"', "'", "a@b,", "<a@b>; ")
    invited = "readback.cabinet.operators.admin:addresses_in"
    yield from _rows("invitations", invited, _FORM, *units)
    csv = {"before": "email,name\n"}
    yield from _rows("invitations", invited, _FORM, "a", '"a,', "@,\n", **csv)
    yield from _rows("e-mail", _clean_email, _FORM, "a", "a.", "ü", "@", before="a@")
    stored = "readback.cabinet.accounts.selectors:stored_form"
    yield from _rows("search of an address", stored, _FORM, "ü", "ü.", before="a@")
    name = "readback.cabinet.accounts.services:checked_name"
    yield from _rows("name", name, _FORM, "a", " ", "\u200d", "\u202e")
    yield from _rows("answer to a test", _shown, _FORM, "a", "\u202e", "\x00")
    words = ("1", "a.", "key ", "ж", "_", "`")
    yield from _rows("search", _search, 2000, *words, before="key ")


def _clean_email(text: str) -> object:
    from readback.cabinet.accounts.forms import NormalisedEmailField

    return NormalisedEmailField().clean(text)


def _shown(text: str) -> object:
    from readback.cabinet.keys import send_test

    return send_test._shown(text, "a" * keys.LENGTH)


def _search(text: str) -> object:
    from readback.cabinet.pages import docs, search

    docs.names = lambda: {"connect"}  # indexing all pages takes seconds
    return search.search(text[: search._MAX_QUERY], "en")


def _requests() -> Iterator[WorstCase]:
    """Yield cases for the heads of requests to the cabinet."""
    units = ("\\", "\\012", '"', ";", "a=b;", "=")
    yield from _rows("cookie", _cookies, 16_384, *units, before='a="', after='"')
    yield from _rows("browser", _browser, _FIELD, "Chrome", "a", "Linux")
    head = {"before": "GET / HTTP/1.1\r\na: ", "after": "\r\n\r\n"}
    lines = ("a", " ", "\r\na: b", "\r\n ", ":", ",")
    yield from _rows("head", _parse_head, _HEAD, *lines, **head)


def _cookies(text: str) -> object:
    from django.core.handlers.wsgi import WSGIRequest

    from readback.cabinet import middleware

    meta = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.input": BytesIO()}
    request = WSGIRequest(meta | {"HTTP_COOKIE": text})
    return middleware.simple_cookies(lambda request: request.COOKIES)(request)


def _browser(text: str) -> object:
    from readback.cabinet.accounts import sessions

    return [
        sessions._first(names, text)
        for names in (sessions._BROWSERS, sessions._SYSTEMS)
    ]


def _parse_head(text: str) -> object:
    from readback.cabinet.serving.wsgi import environ_of
    from readback.http.head import Refused, parse

    with suppress(Refused):
        return environ_of(parse(text.encode(), 100), b"", "127.0.0.1")


@cache
def _set_up_django() -> None:
    """Set Django up with default settings, ignoring the developer's environment."""
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "readback.cabinet.settings"
    settings = {"READBACK_SECRET_KEY": "only-for-tests-" * 5}
    with patch.dict(os.environ, environment_with(settings), clear=True):
        django.setup()


CASES = [*_addresses(), *_forms(), *_requests()]
