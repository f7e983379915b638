"""`readback account`: manage one account, named by its e-mail address."""

from typing import TYPE_CHECKING

import click

from readback.cli import prompts, tables
from readback.cli.django_setup import open_cabinet
from readback.cli.exit_codes import Failure
from readback.cli.mail_note import print_mail_note
from readback.contract import REVOCATION_SECONDS

if TYPE_CHECKING:
    from readback.cabinet.models import User

_confirmed_option = click.option(
    "--confirmed",
    is_flag=True,
    help="Mark the address as confirmed without sending an e-mail.",
)


@click.group()
def account() -> None:
    """Create, show, deactivate, activate, reset or delete an account."""


@account.command()
@click.argument("email")
@_confirmed_option
@click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input."
)
def create(email: str, confirmed: bool, password_stdin: bool) -> None:
    """Create an account.

    Asks for a password on a terminal. An account without a password can have keys;
    its owner can set a password later with "forgot password" in the cabinet.
    """
    with open_cabinet():
        from readback.cabinet import services

        password = prompts.password(password_stdin)
        created = services.account_create(email, password, confirmed=confirmed)
    state = "confirmed" if confirmed else "not confirmed: log in to receive the e-mail"
    click.echo(f"Created the account {created.email} ({state}).")


@account.command()
@click.argument("email")
def show(email: str) -> None:
    """Show the state of an account."""
    with open_cabinet():
        from readback.cabinet import selectors

        user = find_account(email)
        active = selectors.keys_active(user).count()
        rows = [
            ("e-mail", user.email),
            ("active", _yes_no(user.is_active)),
            ("confirmed", _yes_no(selectors.account_is_confirmed(user))),
            ("operator", _yes_no(user.is_staff)),
            ("created", tables.format_time(user.date_joined)),
            ("last login", tables.format_time(user.last_login)),
            ("keys", f"{active} of {selectors.keys_of(user).count()} active"),
        ]
    tables.print_rows(("account", ""), rows)


@account.command(
    help=f"""Deactivate an account.

    Its keys are refused within {REVOCATION_SECONDS} second and its owner cannot log in.
    """
)
@click.argument("email")
def deactivate(email: str) -> None:
    with open_cabinet():
        from readback.cabinet import services

        services.account_deactivate(find_account(email))
    click.echo(f"Deactivated {email}.")


@account.command()
@click.argument("email")
@_confirmed_option
def activate(email: str, confirmed: bool) -> None:
    """Activate an account again; its keys work as before."""
    with open_cabinet():
        from readback.cabinet import services

        user = find_account(email)
        services.account_activate(user)
        if confirmed:
            services.account_confirm(user)
    click.echo(f"Activated {email}.")


@account.command("reset-second-factor")
@click.argument("email")
def reset_second_factor(email: str) -> None:
    """Remove the second factor of an owner who has lost it.

    Its passkeys, authenticator app and recovery codes stop working, and all its
    sessions end. Make sure first that it is the owner who asks.
    """
    with open_cabinet():
        from readback.cabinet import second_factor_services

        second_factor_services.second_factor_reset(find_account(email))
    click.echo(f"Removed the second factor of {email} and ended its sessions.")
    print_mail_note()


@account.command()
@click.argument("email")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(email: str, yes: bool) -> None:
    """Delete an account.

    Its keys and their history are deleted too. This cannot be undone.
    """
    with open_cabinet():
        from readback.cabinet import services

        user = find_account(email)
        prompts.confirm(
            f"Delete {user.email} with its keys ({user.keys.count()}) and their "
            "history?",
            yes=yes,
        )
        services.account_delete(user)
    click.echo(f"Deleted {email}.")
    print_mail_note()


def find_account(email: str) -> "User":
    from readback.cabinet import selectors

    user = selectors.account_find(email)
    if user is None:
        raise Failure(f"There is no account {email}.")
    return user


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"
