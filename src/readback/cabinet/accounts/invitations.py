"""Invitations: an account without a password, and a mail to its address.

The mail leads to the public page on which people ask for a password, so it contains no
secret and nothing expires; the link of that page proves the mailbox.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from allauth.core import context
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from readback.cabinet import account_rules
from readback.cabinet.accounts import services
from readback.cabinet.accounts.forms import NormalisedEmailField
from readback.cabinet.accounts.services import ServiceError
from readback.cabinet.mail import notices, outbox, rendering
from readback.cabinet.models import User

# In one list.
MAX_ADDRESSES = 1000
# Between two addresses may be whatever mail programs write there.
_SEPARATORS = re.compile(r"[\s,;:<>\"'()|]+")


class Invited(NamedTuple):
    """What became of an address: its new account, or why it was left out."""

    email: str
    account: User | None = None
    problem: str = ""


@transaction.atomic
def account_invite(email: str, *, mail: bool = True) -> User:
    """Create an account without a password, and tell the owner of its address.

    A sign-up with this address that nobody has confirmed or used is replaced: somebody
    else may know its password.
    """
    try:
        email = NormalisedEmailField().clean(email)
    except ValidationError as error:
        raise ServiceError(" ".join(error.messages)) from None
    services.account_discard_unused(email)
    account = services.account_create(email, confirmed=True)
    notices.record("account_invited", account=account.pk)
    if mail and not outbox.allow_notice(context.request, email):
        raise ServiceError(
            _("Too many e-mails went to this address. Try again in an hour.")
        )
    if mail:  # in the language of the operator's page
        only_sso = account_rules.provider_is_only_way()
        link = rendering.absolute_url("account_login") if only_sso else ""
        outbox.add(
            outbox.INVITATION, email, outbox.NOTICE_LIFETIME, account=account, link=link
        )
    return account


def addresses_in(text: str) -> list[str]:
    """Return the words that may be addresses, in a time that is linear in the text."""
    return [word for word in _SEPARATORS.split(text) if "@" in word]


def invite_many(
    text: str,
    *,
    mail: bool = True,
    also: Callable[[User], object] = lambda account: None,
) -> list[Invited]:
    """Invite the addresses of a list; raise ServiceError if there are too many.

    Each invitation is a transaction of its own, together with what the caller `also`
    does with it: a thousand in one would keep other writers of SQLite waiting.
    """
    found = list(dict.fromkeys(addresses_in(text)))
    if not 0 < len(found) <= MAX_ADDRESSES:
        raise ServiceError(
            _("The list has %(count)d addresses. Invite 1 to %(limit)d at a time.")
            % {"count": len(found), "limit": MAX_ADDRESSES}
        )
    return [_invite(email, mail, also) for email in found]


def _invite(email: str, mail: bool, also: Callable[[User], object]) -> Invited:
    try:
        with transaction.atomic():
            account = account_invite(email, mail=mail)
            also(account)
    except ServiceError as error:
        return Invited(email, problem=str(error))
    return Invited(account.email, account)
