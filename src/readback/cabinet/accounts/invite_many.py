"""Invite many people at once, from a list that somebody has pasted or piped.

A list is addresses in any form that mail programs write, or a CSV file. What is wrong
is reported line by line, and the rest is done. To repeat a list is harmless: whoever
has an open invitation or an account is left alone.
"""

import csv
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from readback.cabinet.accounts import invitations
from readback.cabinet.accounts.services import AccountExistsError, ServiceError
from readback.cabinet.models import Invitation, User
from readback.contract import INVITATION_DAYS

MAX_ADDRESSES = 1000
# What can be between two addresses; a name such as "Doe, Jane" is no address.
_ADDRESS = re.compile(r"[^\s,;<>\"()|]*@[^\s,;<>\"()|]*")
_HEADING = re.compile(r"e-?mail|address|почт|адрес", re.IGNORECASE)
_DELIMITERS = (",", ";", "\t")


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
        made = invitations.invitation_create(email, by=by, days=days, mail=mail)
        also(made)
        return made

    return [_invite(line, email, create) for line, email in found]


def _invite(line: int, email: str, create: Callable[[str], Invitation]) -> Invited:
    if not email:
        problem = _("There is no e-mail address in this line.")
        return Invited(line, "", InvitationOutcome.WRONG, problem)
    # Sending it again is a decision for each: earlier links stop working.
    if known := invitations.invitation_open(email):
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
            found = _ADDRESS.findall(cells[0]) if cells else []
            for address in found or [""]:
                yield number, address.strip("'").removeprefix("mailto:")
        is_first = False


def _column(heading: str) -> tuple[int, str]:
    """Return which column of a CSV file has the addresses, and what is in between."""
    delimiter = max(_DELIMITERS, key=heading.count)
    cells = next(csv.reader([heading], delimiter=delimiter))
    columns = (i for i, cell in enumerate(cells) if _HEADING.search(cell))
    return next(columns, 0), delimiter
