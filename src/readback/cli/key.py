"""`readback key`: create, list, rotate and revoke keys, or generate one."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from readback import keys
from readback.cli import console
from readback.cli.account import find_account
from readback.cli.database import open_cabinet
from readback.cli.exit_codes import Failure
from readback.contract import REVOCATION_SECONDS

if TYPE_CHECKING:
    from readback.cabinet.models import Key

_id_argument = click.argument("key_id", metavar="ID", type=int)


def overlap(value: str) -> timedelta:
    """Parse `now` or a duration; click shows this function's name in the help."""
    return timedelta() if value == "now" else console.duration(value)


@click.group()
def key() -> None:
    """Create, list, rotate or revoke keys, or generate one."""


@key.command()
@click.argument("email")
@click.option("--name", default="", help="What the key is for.")
@click.option(
    "--if-missing",
    metavar="NAME",
    help="Create a key with this name only if the account has no active one.",
)
@click.option(
    "--expires-in",
    type=console.duration,
    help="Lifetime of the key, such as 30d, 12h, 15m or 1s. Default: no expiry.",
)
@console.flag(
    "--explain",
    help="Explain refusals in the body, for programs that show only the body.",
)
@click.option(
    "--rehearse",
    metavar="PATTERN",
    help="Create a rehearsal key, which answers as the pattern says, such as "
    "'429 429 ok': docs/testing.md explains the steps.",
)
@console.json_option
def create(
    email: str,
    name: str,
    if_missing: str | None,
    expires_in: timedelta | None,
    explain: bool,
    rehearse: str | None,
    as_json: bool,
) -> None:
    """Create a key for an account.

    Only the key is printed on standard output.
    """
    if name and if_missing is not None:
        raise click.UsageError("--if-missing already has the name: omit --name.")
    with open_cabinet(), console.written_before_commit():
        from readback.cabinet.keys import services

        owner = find_account(email)
        # Computed only now, because a key may expire in a second and loading Django may
        # take longer.
        expires_at = datetime.now(UTC) + expires_in if expires_in else None
        missing = if_missing is not None
        make = services.key_create_if_missing if missing else services.key_create
        made, text = make(
            owner,
            if_missing or name,
            expires_at,
            explains_refusals=explain,
            rehearsal=rehearse,
        )
        if as_json:
            secret = {"key": text} if text else {}
            console.print_json({"created": bool(text), **secret, **_fields(made)})
        elif text:
            note = f"Key {made.pk} of {made.owner}; it is not shown again:"
            click.echo(note, err=True)
            click.echo(text)
        else:
            note = f"Key {made.pk} of {made.owner} has this name; no key was created."
            click.echo(note, err=True)


@key.command("list")
@click.argument("email")
@console.json_option
def list_(email: str, as_json: bool) -> None:
    """List the keys of an account: id, key, state, times, rehearsal and name."""
    with open_cabinet():
        from readback.cabinet.keys import selectors

        found = list(selectors.keys_of(find_account(email)))
    if as_json:
        console.print_json([_fields(made) for made in found])
        return
    headings = ["id", "key", "state", "created", "expires", "last used", "rehearsal"]
    rows = []
    for made in found:
        times = (made.created_at, made.expires_at, made.last_used_at)
        shown = (str(made.pk), str(made), made.state.value)
        pattern = made.rehearsal or "-"
        rows.append((*shown, *map(console.format_time, times), pattern, made.label))
    console.print_rows([*headings, "name"], rows)


@key.command()
@_id_argument
@click.option(
    "--overlap",
    type=overlap,
    default="1d",
    show_default=True,
    help="How long the old key keeps working: now, or up to 7d, such as 1h.",
)
@console.yes_option
@console.json_option
def rotate(key_id: int, overlap: timedelta, yes: bool, as_json: bool) -> None:
    """Replace this key with a new one that has the same name and settings.

    Only the new key is printed on standard output. This cannot be undone.
    """
    with open_cabinet():
        from readback.cabinet.keys import services

        old = _find_key(key_id)
        console.confirm(f"Rotate {old} of {old.owner}?", yes=yes)
        with console.written_before_commit():
            new = services.key_rotate(old, overlap)
            old.refresh_from_db()
            if as_json:
                fields = {"key": new.text, **_fields(new.key), "replaced": _fields(old)}
                console.print_json(fields)
            else:
                ends = f"works until {console.format_time(old.expires_at)}"
                click.echo(
                    f"Key {new.key.pk} replaces key {old.pk}, which "
                    f"{ends if old.is_active else 'no longer works'}. "
                    "It is not shown again:",
                    err=True,
                )
                click.echo(new.text)


@key.command()
@_id_argument
@console.yes_option
@console.json_option
def revoke(key_id: int, yes: bool, as_json: bool) -> None:
    """Revoke the key with this id; this cannot be undone."""
    with open_cabinet():
        from readback.cabinet.keys import services

        found = _find_key(key_id)
        console.confirm(f"Revoke {found} of {found.owner}?", yes=yes)
        services.key_revoke(found)
    done = (
        f"Revoked {found}; it is refused everywhere within {REVOCATION_SECONDS} second."
    )
    console.print_result(done, _fields(found), as_json)


@key.command()
@console.json_option
def generate(as_json: bool) -> None:
    """Print a new key without storing it, for READBACK_EPHEMERAL_KEY.

    No server accepts the key until readback serve --ephemeral starts with it.
    """
    text = keys.mint()
    console.print_result(text, {"key": text}, as_json)


def _find_key(key_id: int) -> "Key":
    from readback.cabinet.models import Key

    found = Key.objects.select_related("owner").filter(pk=key_id).first()
    if found is None:
        raise Failure(f"There is no key {key_id}.")
    return found


def _fields(made: "Key") -> dict[str, Any]:
    """Return what `--json` prints about a key; docs/cli.md explains the names."""
    return {
        "id": made.pk,
        "name": made.label,
        "masked": str(made),
        "state": made.state.value,
        "created_at": made.created_at,
        "expires_at": made.expires_at,
        "revoked_at": made.revoked_at,
        "last_used_at": made.last_used_at,
        "explains_refusals": made.explains_refusals,
        "rehearsal": made.rehearsal,
        "replaced_by": made.replaced_by_id,
    }
