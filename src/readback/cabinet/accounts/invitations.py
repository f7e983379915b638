"""Invitations: their links, all changes to them, who can accept one, and long lists.

An address has at most one. Its link is signed and never stored; it names the row and
its creation time. Inviting again changes that time, so earlier links stop working.
"""

import csv
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from allauth.core import context
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from readback.cabinet import account_rules
from readback.cabinet.accounts import selectors, services
from readback.cabinet.accounts.forms import NormalisedEmailField
from readback.cabinet.accounts.services import AccountExistsError, ServiceError
from readback.cabinet.mail import notices, outbox
from readback.cabinet.models import Invitation, User
from readback.contract import INVITATION_DAYS

# How long operators can see what became of an invitation.
KEPT = timedelta(days=30)
_SALT = "readback.cabinet.invitation"
# In one list.
MAX_ADDRESSES = 1000
# What can be between two addresses; a name such as "Doe, Jane" is no address.
_SEPARATOR = re.compile(r"[\s,;<>\"()|]")
_HEADING = re.compile(r"e-?mail|address|почт|адрес", re.IGNORECASE)
_DELIMITERS = (",", ";", "\t")


@transaction.atomic
def invitation_create(
    email: str,
    *,
    by: User | None = None,
    days: int = INVITATION_DAYS,
    mail: bool = True,
) -> Invitation:
    """Invite an address; if it was invited before, earlier links stop working."""
    try:
        email = NormalisedEmailField().clean(email)
    except ValidationError as error:
        raise ServiceError(" ".join(error.messages)) from None
    services.check_domain(email)
    account = selectors.account_find(email)
    if account is not None and not selectors.account_is_unused(account):
        if account.is_active:
            raise AccountExistsError
        raise ServiceError(
            _("The account with this address is deactivated. Activate it instead.")
        )
    invitation_delete_old()
    now, lifetime = timezone.now(), timedelta(days=days)
    fields = {
        "invited_by": by,
        "created_at": now,
        "expires_at": now + lifetime,
        "accepted_at": None,
    }
    invitation, _created = Invitation.objects.update_or_create(fields, email=email)
    notices.record("invitation_sent", invitation=invitation.pk)
    if mail and not outbox.allow_notice(context.request, email):
        raise ServiceError(
            _("Too many e-mails went to this address. Try again in an hour.")
        )
    if mail:  # in the language of the operator's page
        outbox.add(outbox.INVITATION, email, lifetime)
    return invitation


@transaction.atomic
def invitation_withdraw(invitation: Invitation) -> None:
    """Delete an invitation that has not been accepted; its link stops working."""
    pk = invitation.pk
    deleted, _by_model = Invitation.objects.filter(pk=pk, accepted_at=None).delete()
    if not deleted:
        raise ServiceError(_("This invitation has been accepted or withdrawn."))
    notices.record("invitation_withdrawn", invitation=pk)


def invitation_accept(invitation: Invitation, password: str) -> User:
    """Create the account of an invited address, confirmed, once.

    An account with this address that nobody has confirmed or used is replaced, as by
    any other sign-up.
    """
    # Hashing is slow, and SQLite has one writer at a time.
    account = User(
        email=invitation.email,
        password=make_password(password),
        language=translation.get_language() or "",
    )
    try:
        with transaction.atomic():
            services.account_discard_unused(account.email)
            account.save()
            services.email_add(account)
            invitation_close(invitation, account)
    except IntegrityError:
        raise AccountExistsError from None
    return account


@transaction.atomic
def invitation_close(invitation: Invitation, account: User) -> None:
    """Mark an invitation as accepted by its new account; of two calls one fails."""
    now = timezone.now()
    # The time of creation too, because inviting again ends the earlier invitation.
    same = Invitation.objects.filter(pk=invitation.pk, created_at=invitation.created_at)
    still_open = same.filter(accepted_at=None, expires_at__gt=now)
    if not still_open.update(accepted_at=now):
        raise ServiceError(_("This invitation no longer works."))
    event = "invitation_accepted"
    notices.record(event, account=account.pk, invitation=invitation.pk)


def invitation_delete_old() -> None:
    """Delete invitations that ended some time ago; called at logins and invitations."""
    end = timezone.now() - KEPT
    Invitation.objects.filter(Q(accepted_at__lt=end) | Q(expires_at__lt=end)).delete()


def invitation_link(invitation: Invitation) -> str:
    token = signing.dumps([invitation.pk, _moment(invitation)], salt=_SALT)
    path = reverse("account_invitation", kwargs={"token": token})
    return f"{settings.CABINET_URL}{path}"


def invitation_of_link(token: str) -> Invitation | None:
    """Return the invitation that the link's token is for, if it can be accepted now."""
    try:
        pk, moment = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    invitation = Invitation.objects.filter(pk=pk).first()
    if invitation is None or _moment(invitation) != moment:
        return None
    return invitation if invitation_is_usable(invitation) else None


def _moment(invitation: Invitation) -> int:
    """Return the time of creation in microseconds."""
    return round(invitation.created_at.timestamp() * 1_000_000)


def invitations() -> QuerySet[Invitation]:
    return Invitation.objects.select_related("invited_by").order_by("-created_at")


def invitation_find(email: str) -> Invitation | None:
    return invitations().filter(email=selectors.stored_form(email)).first()


def invitation_open(email: str) -> Invitation | None:
    """Return the invitation of an address if it can be accepted now."""
    invitation = invitation_find(email)
    return invitation if invitation and invitation.is_open else None


def may_sign_up(email: str, invitation: Invitation | None = None) -> bool:
    """Return whether a visitor may create an account with this address.

    Pass the invitation of the address only if the visitor has proved that the address
    is theirs, by its link or by a provider that has verified it.
    """
    is_invited = (
        invitation is not None and invitation.is_open and invitation.email == email
    )
    is_open = account_rules.form_is_open() or is_invited
    return is_open and account_rules.allows_address(email)


def invitation_is_usable(invitation: Invitation) -> bool:
    """Return whether the owner of the address can create an account with it now."""
    email = invitation.email
    if not invitation.is_open or not may_sign_up(email, invitation):
        return False
    account = selectors.account_find(email)
    return account is None or selectors.account_is_unused(account)


class InvitationOutcome(StrEnum):
    INVITED = "invited"
    ALREADY_INVITED = "already_invited"
    HAS_ACCOUNT = "has_account"
    WRONG = "wrong"


class Invited(NamedTuple):
    """What became of one address, or of a line without one."""

    line: int
    email: str
    outcome: InvitationOutcome
    problem: str = ""
    invitation: Invitation | None = None


def invite_many(
    text: str,
    *,
    by: User | None = None,
    days: int = INVITATION_DAYS,
    mail: bool = True,
    also: Callable[[Invitation], object] = lambda invitation: None,
) -> list[Invited]:
    """Invite the addresses of a list; raise ServiceError if there are too many.

    A list is addresses in any form that mail programs write, or a CSV file. What is
    wrong is reported line by line, and the rest is done. To repeat a list is harmless:
    whoever has an open invitation or an account is left alone.

    Each invitation is a transaction of its own, together with what the caller `also`
    does with it: a thousand in one would keep other writers of SQLite waiting.
    """
    found = list(_addresses(text))
    if len(found) > MAX_ADDRESSES:
        raise ServiceError(
            _("The list has %(count)d addresses. Invite at most %(limit)d at a time.")
            % {"count": len(found), "limit": MAX_ADDRESSES}
        )

    @transaction.atomic
    def create(email: str) -> Invitation:
        made = invitation_create(email, by=by, days=days, mail=mail)
        also(made)
        return made

    return [_invite(line, email, create) for line, email in found]


def _invite(line: int, email: str, create: Callable[[str], Invitation]) -> Invited:
    if not email:
        problem = _("There is no e-mail address in this line.")
        return Invited(line, "", InvitationOutcome.WRONG, problem)
    # Sending it again is a decision for each: earlier links stop working.
    if known := invitation_open(email):
        return Invited(line, known.email, InvitationOutcome.ALREADY_INVITED)
    try:
        made = create(email)
    except AccountExistsError:
        return Invited(line, email, InvitationOutcome.HAS_ACCOUNT)
    except ServiceError as error:
        return Invited(line, email, InvitationOutcome.WRONG, str(error))
    return Invited(line, made.email, InvitationOutcome.INVITED, invitation=made)


def _addresses(text: str) -> Iterator[tuple[int, str]]:
    """Yield each address with the number of its line; empty if a line has none."""
    column, delimiter = None, ","
    is_first = True
    # Not `splitlines`: it takes characters for line breaks that editors do not count.
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text.lstrip("\ufeff")), 1):
        if not line.strip():
            continue
        if is_first and "@" not in line and _HEADING.search(line):
            column, delimiter = _column(line)
        else:
            cells = [line]
            if column is not None:
                row = next(csv.reader([line], delimiter=delimiter, strict=False))
                cells = row[column : column + 1]
            # Not a search for what is around an @: without one, it would begin again
            # at every character.
            words = _SEPARATOR.split(cells[0]) if cells else []
            found = [word for word in words if "@" in word]
            for address in found or [""]:
                yield number, address.strip("'").removeprefix("mailto:")
        is_first = False


def _column(heading: str) -> tuple[int, str]:
    """Return which column of a CSV file has the addresses, and what is in between."""
    delimiter = max(_DELIMITERS, key=heading.count)
    cells = next(csv.reader([heading], delimiter=delimiter))
    columns = (i for i, cell in enumerate(cells) if _HEADING.search(cell))
    return next(columns, 0), delimiter
