"""Everything we hold about an account, as one JSON document, and the page for it.

The names of the fields are those of the columns, documented in docs/cabinet.md. Left
out is what could replace a secret (the hash of a password, the digest of a key, the key
of a session) and what is about somebody else. A test compares `SECTIONS` with all
tables that lead to an account, so that none is forgotten.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from allauth.core import ratelimit
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.auth.decorators import login_required
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, Q, QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from readback.cabinet.accounts import selectors
from readback.cabinet.models import (
    JournalEntry,
    Key,
    OutgoingMail,
    Usage,
    User,
)
from readback.cabinet.serving import security_log
from readback.cabinet.serving.visitors import AccountRequest, personal_page

ACCOUNT_COLUMNS = [
    *("id", "email", "language", "is_active", "is_staff", "is_superuser"),
    *("date_joined", "last_login"),
]
_LIMIT = "download_data"


class Section(NamedTuple):
    """A list in the document: the rows of a table that belong to an account."""

    name: str
    model: type[Model]
    columns: str
    # Several queries if there can be many rows, so that one fits into memory.
    find: Callable[[Any, User], Iterable[QuerySet[Any]]]


def as_json(account: User) -> Iterator[str]:
    permissions = account.user_permissions.values_list("codename", flat=True)
    values = {
        **{name: getattr(account, name) for name in ACCOUNT_COLUMNS},
        "has_password": account.has_usable_password(),
        "groups": list(account.groups.values_list("name", flat=True)),
        "user_permissions": list(permissions),
    }
    yield f'{{"made_at": {_json(timezone.now())}'
    yield f',\n"account": {_json(values)}'
    for section in SECTIONS:
        yield f',\n"{section.name}": ['
        separator = "\n"
        for rows in section.find(section.model, account):
            for row in rows.values(*section.columns.split()).iterator():
                yield f"{separator}{_json(row)}"
                separator = ",\n"
        yield "]"
    yield "}\n"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def _own(model: Any, account: User) -> list[QuerySet[Any]]:
    return [model.objects.filter(user=account).order_by("pk")]


def _of_each_key(*order: str) -> Callable[[Any, User], Any]:
    """Find the rows of one key after the other, in the order of an index."""
    return lambda model, account: (
        model.objects.filter(key=key).order_by(*order)
        for key in account.keys.order_by("-id").values_list("pk", flat=True)
    )


def _addresses(account: User) -> list[str]:
    confirmed = EmailAddress.objects.filter(user=account, verified=True)
    return list(confirmed.values_list("email", flat=True))


SECTIONS = (
    Section("email_addresses", EmailAddress, "email verified primary", _own),
    Section(
        "keys",
        Key,
        "id label last_four created_at expires_at revoked_at reminded_at last_used_at "
        "explains_refusals replaced_by",
        lambda _keys, account: [account.keys.order_by("-id")],
    ),
    Section(
        "usage",
        Usage,
        "key hour endpoint code requests",
        _of_each_key("hour", "endpoint", "code"),
    ),
    Section(
        "journal",
        JournalEntry,
        "key at accepted endpoint status code detail differences request_bytes "
        "answer_bytes user_agent client_address requests",
        _of_each_key("accepted", "pk"),
    ),
    Section("sessions", UserSession, "created_at last_seen_at ip user_agent", _own),
    Section("second_factors", Authenticator, "type created_at last_used_at", _own),
    Section(
        "providers",
        SocialAccount,
        "provider uid date_joined last_login extra_data",
        _own,
    ),
    Section(
        "mails_waiting",
        OutgoingMail,
        "template address created_at expires_at attempts",
        lambda rows, account: [
            rows.objects.filter(
                Q(account=account) | Q(address__in=_addresses(account))
            ).order_by("pk")
        ],
    ),
    Section(
        "actions_of_operators",
        LogEntry,
        "action_time object_repr action_flag change_message",
        lambda _entries, account: [selectors.audit_entries(account).order_by("pk")],
    ),
    Section(
        "actions_as_operator",
        LogEntry,
        "action_time object_id action_flag change_message",
        _own,
    ),
)


@personal_page
@reauthentication_required
def page(request: AccountRequest) -> HttpResponse:
    """Ask for the password here: a file after it would leave its form on the screen."""
    return render(request, "accounts/account_data.html")


# Not HEAD: it would write to the security log. Compressed, because the whole answer
# is in memory before it is sent, and a year of counts is 20 times larger than its gzip.
@require_GET
@never_cache
@login_required
@reauthentication_required
@gzip_page
def download(request: AccountRequest) -> HttpResponseBase:
    if limited := ratelimit.consume_or_429(request, action=_LIMIT, limit_get=True):
        return limited
    security_log.record("data_downloaded", account=request.user.pk)
    parts = as_json(request.user)
    response = StreamingHttpResponse(parts, content_type="application/json")
    file = f"readback-account-{timezone.now():%Y-%m-%d}.json"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response
