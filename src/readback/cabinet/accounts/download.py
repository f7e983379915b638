"""Everything we hold about an account, as one JSON document, and the page for it.

The fields are named after the columns, as documented in docs/cabinet.md. Values derived
from a secret (a password hash, a key's digest, a session key) and data about other
people are left out. A test compares `lists_of` with all tables that reference an
account.
"""

import json
from collections.abc import Iterator
from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from allauth.core import ratelimit
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.auth.decorators import login_required
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import F, Q, QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from readback.cabinet.accounts import selectors
from readback.cabinet.models import (
    AuditEntry,
    JournalEntry,
    Key,
    OutgoingMail,
    Usage,
    User,
)
from readback.cabinet.serving import security_log
from readback.cabinet.serving.visitors import AccountRequest, personal_page

ACCOUNT_COLUMNS = "id email language is_active is_staff date_joined last_login"
_LIMIT = "download_data"


def as_json(account: User) -> Iterator[str]:
    values = {
        **{name: getattr(account, name) for name in ACCOUNT_COLUMNS.split()},
        "has_password": account.has_usable_password(),
    }
    yield f'{{"made_at": {_json(timezone.now())}'
    yield f',\n"account": {_json(values)}'
    for name, (found, columns) in lists_of(account).items():
        yield f',\n"{name}": ['
        separator = "\n"
        rows = found.order_by("pk").values(*columns.split())
        # An account may have more usage rows than fit into memory.
        for row in rows.iterator():
            yield f"{separator}{_json(row)}"
            separator = ",\n"
        yield "]"
    yield "}\n"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def lists_of(account: User) -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows and columns of each list in the document."""
    addresses = EmailAddress.objects.filter(user=account)
    # An address that is not confirmed may be someone else's.
    to_account = Q(address__in=addresses.filter(verified=True).values("email"))
    mails = OutgoingMail.objects.filter(Q(account=account) | to_account)
    return {
        "email_addresses": (addresses, "email verified primary"),
        "keys": (
            Key.objects.filter(owner=account),
            "id label last_four created_at expires_at revoked_at reminded_at "
            "last_used_at explains_refusals rehearsal replaced_by",
        ),
        "usage": (
            Usage.objects.filter(key__owner=account),
            "key hour endpoint code requests",
        ),
        "journal": (
            JournalEntry.objects.filter(key__owner=account),
            "key at accepted endpoint status code detail differences request_bytes "
            "answer_bytes user_agent client_address requests",
        ),
        "sessions": (
            UserSession.objects.filter(user=account),
            "created_at last_seen_at ip data",
        ),
        "second_factors": (
            # The rest of `data` is secret.
            Authenticator.objects.filter(user=account).annotate(name=F("data__name")),
            "type name created_at last_used_at",
        ),
        "providers": (
            SocialAccount.objects.filter(user=account),
            "provider uid date_joined last_login extra_data",
        ),
        "mails_waiting": (mails, "template address created_at expires_at attempts"),
        "actions_of_operators": (
            selectors.audit_entries(account),
            "at object_name change",
        ),
        "actions_as_operator": (
            AuditEntry.objects.filter(by_id=account.pk),
            "at object_type object_id change",
        ),
    }


@personal_page
@reauthentication_required
def page(request: AccountRequest) -> HttpResponse:
    """Show the page; require reauthentication now, not only for the download."""
    return render(request, "accounts/account_data.html")


# Not HEAD, which would write to the security log. Compressed, because the whole answer
# is in memory before it is sent; a year of usage becomes 20 times smaller.
@require_GET
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
