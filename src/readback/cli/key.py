"""`readback key`: create, list and revoke keys."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from readback.cli import prompts, tables
from readback.cli.account import find_account
from readback.cli.django_setup import open_cabinet
from readback.cli.exit_codes import Failure
from readback.cli.mail_note import print_mail_note
from readback.contract import REVOCATION_SECONDS

if TYPE_CHECKING:
    from readback.cabinet.models import Key


_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def duration(value: str) -> timedelta:
    """Parse a lifetime such as 30d; click shows this function's name in the help."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})([dhms])", value)
    if not match:
        raise click.BadParameter(
            "must be a number with a unit, such as 30d, 12h, 15m or 1s."
        )
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
    help="Lifetime of the key, such as 30d, 12h, 15m or 1s. Default: no expiry.",
)
def create(email: str, name: str, expires_in: timedelta | None) -> None:
    """Create a key for an account.

    Only the key is printed on standard output.
    """
    with open_cabinet():
        from readback.cabinet import services

        expires_at = _expiry(expires_in)
        created = services.key_create(find_account(email), name, expires_at)
    print_mail_note()
    click.echo(f"Key {created.key.pk} of {email}; it is not shown again:", err=True)
    click.echo(created.text)


@key.command("list")
@click.argument("email")
def list_(email: str) -> None:
    """List the keys of an account: id, key, state, times and name."""
    with open_cabinet():
        from readback.cabinet import selectors

        rows = [_row(each) for each in selectors.keys_of(find_account(email))]
    headings = ("id", "key", "state", "created", "expires", "last used", "name")
    tables.print_rows(headings, rows)


@key.command()
@click.argument("id", type=int)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def revoke(id: int, yes: bool) -> None:
    """Revoke the key with this id; this cannot be undone."""
    with open_cabinet():
        from readback.cabinet import services
        from readback.cabinet.models import Key

        found = Key.objects.select_related("owner").filter(pk=id).first()
        if found is None:
            raise Failure(f"There is no key {id}.")
        prompts.confirm(f"Revoke {found} of {found.owner}?", yes=yes)
        services.key_revoke(found)
    click.echo(
        f"Revoked {found}; it is refused everywhere within {REVOCATION_SECONDS} second."
    )
    print_mail_note()


def _expiry(lifetime: timedelta | None) -> datetime | None:
    if lifetime is None:
        return None
    try:
        return datetime.now(UTC) + lifetime
    except OverflowError:
        raise click.UsageError("--expires-in is too far in the future.") from None


def _row(each: "Key") -> tuple[str, ...]:
    return (
        str(each.pk),
        str(each),
        each.state.value,
        tables.format_time(each.created_at),
        tables.format_time(each.expires_at),
        tables.format_time(each.last_used_at),
        each.label,
    )
