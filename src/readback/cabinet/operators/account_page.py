"""One page for an account: what operators see of it. Never writes.

What they can do with it are the operations of `admin.py`. No column holds a key, a
password or a secret of a second factor, and what is shown of a session is what its
owner sees.
"""

from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q, QuerySet

from readback.cabinet.accounts import selectors, sessions
from readback.cabinet.keys import selectors as key_selectors
from readback.cabinet.models import Key, OutgoingMail, User

# Of each list, the newest; Django's admin has the others.
ROWS = 20


def context(account: User) -> dict[str, Any]:
    """Return what operators/account.html shows of an account."""
    keys = key_selectors.keys_of(account).order_by("-pk")
    return {
        "account": account,
        "is_confirmed": selectors.account_is_confirmed(account),
        "has_password": account.has_usable_password(),
        "connections": list(SocialAccount.objects.filter(user=account).order_by("pk")),
        "factors": selectors.second_factors_of(account),
        "sessions": [
            (row, sessions.shown_address(row))
            for row in sessions.sessions_of(account)[:ROWS]
        ],
        "keys": keys[:ROWS],
        "key_count": keys.count(),
        "mails": _mails(account)[:ROWS],
        "audit": audit_rows(account)[:ROWS],
    }


def _mails(account: User) -> QuerySet[OutgoingMail]:
    """Return the mails that wait, or wait to be tried again."""
    mails = OutgoingMail.objects.filter(Q(account=account) | Q(address=account.email))
    return mails.order_by("-pk")


def audit_rows(account: User) -> QuerySet[LogEntry]:
    """Return what operators did with the account and with its keys, newest first."""
    ids = account.keys.values_list("pk", flat=True)
    of_account, of_key = (
        ContentType.objects.get_for_model(model) for model in (User, Key)
    )
    return (
        LogEntry.objects.filter(
            Q(content_type=of_account, object_id=str(account.pk))
            | Q(content_type=of_key, object_id__in=[str(each) for each in ids])
        )
        .select_related("user", "content_type")
        .order_by("-pk")
    )
