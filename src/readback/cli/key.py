"""`readback key`: make, list and revoke keys."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from readback.cli import cabinet, questions, tables
from readback.cli.account import find
from readback.cli.exits import Failure
from readback.contract import REVOCATION_SECONDS

if TYPE_CHECKING:
    from readback.cabinet.models import Key


_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def duration(value: str) -> timedelta:
    match = re.fullmatch(r"([1-9][0-9]{0,8})([dhms])", value)
    if not match:
        raise click.BadParameter("must look like 30d, 12h, 15m or 1s")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


@click.group()
def key() -> None:
    """Create, list or revoke keys."""


@key.command()
@click.argument("email")
@click.option("--name", default="", help="What the key is for.")
@click.option(
    "--expires-in",
    type=duration,
    help="Such as 30d, 12h, 15m or 1s; never if left out.",
)
def create(email: str, name: str, expires_in: timedelta | None) -> None:
    """Create a key and print it, alone, on standard output."""
    with cabinet.opened():
        from readback.cabinet import services

        made = services.key_create(find(email), name, _moment_in(expires_in))
    click.echo(f"Key {made.key.pk} of {email}; it is not shown again:", err=True)
    click.echo(made.text)


@key.command("list")
@click.argument("email")
def list_(email: str) -> None:
    """List the keys of an account: id, key, state, times and name."""
    with cabinet.opened():
        from readback.cabinet import selectors

        rows = [
            (
                str(one.pk),
                str(one),
                _state(one),
                tables.moment(one.created_at),
                tables.moment(one.expires_at),
                tables.moment(one.last_used_at),
                one.label,
            )
            for one in selectors.keys_of(find(email))
        ]
    headings = ("id", "key", "state", "created", "expires", "last used", "name")
    tables.show(headings, rows)


@key.command()
@click.argument("id", type=int)
@click.option("--yes", is_flag=True, help="Do not ask.")
def revoke(id: int, yes: bool) -> None:
    """Revoke the key with this id, for good."""
    with cabinet.opened():
        from readback.cabinet import services
        from readback.cabinet.models import Key

        found = Key.objects.select_related("owner").filter(pk=id).first()
        if found is None:
            raise Failure(f"There is no key {id}.")
        questions.confirm(f"Revoke {found} of {found.owner}?", yes=yes)
        services.key_revoke(found)
    click.echo(
        f"Revoked {found}; it is refused everywhere within {REVOCATION_SECONDS} second."
    )


def _moment_in(duration: timedelta | None) -> datetime | None:
    if duration is None:
        return None
    try:
        return datetime.now(UTC) + duration
    except OverflowError:
        raise click.UsageError("--expires-in is too far in the future.") from None


def _state(one: "Key") -> str:
    if one.revoked_at:
        return "revoked"
    return "expired" if one.is_expired else "active"
