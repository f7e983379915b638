"""`readback account`: an operator's hand on one account, named by its e-mail."""

from typing import TYPE_CHECKING

import click

from readback.cli import cabinet, questions, tables
from readback.cli.exits import Failure

if TYPE_CHECKING:
    from readback.cabinet.models import User

_confirmed = click.option(
    "--confirmed", is_flag=True, help="Vouch for the address: no mail is needed."
)


@click.group()
def account() -> None:
    """Create, show, deactivate, activate or delete an account."""


@account.command()
@click.argument("email")
@_confirmed
@click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input."
)
def create(email: str, confirmed: bool, password_stdin: bool) -> None:
    """Create an account.

    Asks for a password on a terminal. An account without one can have keys, and can
    set a password later by "forgot password" in the cabinet.
    """
    with cabinet.opened():
        from readback.cabinet import services

        password = questions.password(password_stdin)
        made = services.account_create(email, password, confirmed=confirmed)
    state = "confirmed" if confirmed else "not confirmed: log in to get the mail"
    click.echo(f"Created the account {made.email} ({state}).")


@account.command()
@click.argument("email")
def show(email: str) -> None:
    """Show the state of an account."""
    with cabinet.opened():
        from readback.cabinet import selectors

        found = find(email)
        keys = selectors.keys_of(found)
        rows = [
            ("e-mail", found.email),
            ("active", _word(found.is_active)),
            ("confirmed", _word(selectors.account_is_confirmed(found))),
            ("operator", _word(found.is_staff)),
            ("created", tables.moment(found.date_joined)),
            ("last login", tables.moment(found.last_login)),
            (
                "keys",
                f"{selectors.keys_active(found).count()} of {keys.count()} active",
            ),
        ]
    tables.show(("account", ""), rows)


@account.command()
@click.argument("email")
def deactivate(email: str) -> None:
    """Shut an account out: its keys stop within a second, and nobody can log in."""
    with cabinet.opened():
        from readback.cabinet import services

        services.account_deactivate(find(email))
    click.echo(f"Deactivated {email}.")


@account.command()
@click.argument("email")
@_confirmed
def activate(email: str, confirmed: bool) -> None:
    """Let an account in again; its keys work as before."""
    with cabinet.opened():
        from readback.cabinet import services

        found = find(email)
        services.account_activate(found)
        if confirmed:
            services.account_confirm(found)
    click.echo(f"Activated {email}.")


@account.command()
@click.argument("email")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(email: str, yes: bool) -> None:
    """Delete an account with its keys and their history, for good."""
    with cabinet.opened():
        from readback.cabinet import services

        found = find(email)
        questions.confirm(
            f"Delete {found.email}, {found.keys.count()} keys and their history?",
            yes=yes,
        )
        services.account_delete(found)
    click.echo(f"Deleted {email}.")


def find(email: str) -> "User":
    from readback.cabinet import selectors

    found = selectors.account_find(email)
    if found is None:
        raise Failure(f"There is no account {email}.")
    return found


def _word(value: bool) -> str:
    return "yes" if value else "no"
