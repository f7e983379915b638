"""`readback account`: manage one account, named by its e-mail address."""

from typing import TYPE_CHECKING, Any

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
    """Create, show, (de)activate, reset, disconnect or delete an account; invite."""


@account.command()
@click.argument("email")
@_confirmed_option
@click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input."
)
@click.option(
    "--if-missing",
    is_flag=True,
    help="Succeed without a change if the account already exists.",
)
@tables.json_option
def create(
    email: str, confirmed: bool, password_stdin: bool, if_missing: bool, as_json: bool
) -> None:
    """Create an account.

    Asks for a password on a terminal. An account without a password can have keys;
    its owner can set a password later with "forgot password" in the cabinet.
    """
    with open_cabinet():
        user, is_new = _create(email, password_stdin, confirmed, if_missing)
        shown = _as_json(user) | {"created": is_new}
    state = "confirmed" if confirmed else "not confirmed: log in to receive the e-mail"
    sentence = (
        f"Created the account {user.email} ({state})."
        if is_new
        else f"The account {user.email} already exists."
    )
    tables.print_result(sentence, shown, as_json)


@account.command()
@click.argument("email")
@tables.json_option
def show(email: str, as_json: bool) -> None:
    """Show the state of an account."""
    with open_cabinet():
        shown = _as_json(find_account(email))
    if as_json:
        tables.print_json(shown)
        return
    rows = [
        ("e-mail", shown["email"]),
        ("active", _yes_no(shown["active"])),
        ("confirmed", _yes_no(shown["confirmed"])),
        ("operator", _yes_no(shown["operator"])),
        ("created", tables.format_time(shown["created_at"])),
        ("last login", tables.format_time(shown["last_login_at"])),
        ("keys", f"{shown['active_keys']} of {shown['keys']} active"),
    ]
    tables.print_rows(("account", ""), rows)


@account.command(
    help=f"""Deactivate an account.

    Its keys are refused within {REVOCATION_SECONDS} second and its owner cannot log in.
    """
)
@click.argument("email")
@tables.json_option
def deactivate(email: str, as_json: bool) -> None:
    with open_cabinet():
        from readback.cabinet.accounts import services as account_services

        user = find_account(email)
        account_services.account_deactivate(user)
        shown = _as_json(user)
    tables.print_result(f"Deactivated {email}.", shown, as_json)


@account.command()
@click.argument("email")
@_confirmed_option
@tables.json_option
def activate(email: str, confirmed: bool, as_json: bool) -> None:
    """Activate an account again; its keys work as before."""
    with open_cabinet():
        from readback.cabinet.accounts import services as account_services

        user = find_account(email)
        account_services.account_activate(user)
        if confirmed:
            account_services.account_confirm(user)
        shown = _as_json(user)
    tables.print_result(f"Activated {email}.", shown, as_json)


@account.command("reset-second-factor")
@click.argument("email")
@tables.json_option
def reset_second_factor(email: str, as_json: bool) -> None:
    """Remove the second factor of an owner who has lost it.

    Its passkeys, authenticator app and recovery codes stop working, and all its
    sessions end. Make sure first that it is the owner who asks.
    """
    with open_cabinet():
        from readback.cabinet.second_factor import services as second_factor_services

        user = find_account(email)
        second_factor_services.second_factor_reset(user)
        shown = _as_json(user)
    done = f"Removed the second factor of {email} and ended its sessions."
    tables.print_result(done, shown, as_json)
    print_mail_note()


@account.command()
@click.argument("email")
@tables.json_option
def disconnect(email: str, as_json: bool) -> None:
    """Disconnect an account from the person at the login provider.

    All its sessions end. The next person who logs in there with the same address gets
    the account with its keys: make sure first that it is the same person.
    """
    with open_cabinet():
        from readback.cabinet.single_sign_on import services as single_sign_on_services

        user = find_account(email)
        single_sign_on_services.account_disconnect(user)
        shown = _as_json(user)
    done = f"Disconnected {email} from single sign-on and ended its sessions."
    tables.print_result(done, shown, as_json)
    print_mail_note()


@account.command()
@click.argument("email")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@tables.json_option
def delete(email: str, yes: bool, as_json: bool) -> None:
    """Delete an account.

    Its keys and their history are deleted too. This cannot be undone.
    """
    with open_cabinet():
        from readback.cabinet.accounts import services as account_services

        user = find_account(email)
        prompts.confirm(
            f"Delete {user.email} with its keys ({user.keys.count()}) and their "
            "history?",
            yes=yes,
        )
        account_services.account_delete(user)
    deleted = {"email": user.email, "deleted": True}
    tables.print_result(f"Deleted {email}.", deleted, as_json)
    print_mail_note()


def find_account(email: str) -> "User":
    from readback.cabinet.accounts import selectors as account_selectors

    user = account_selectors.account_find(email)
    if user is None:
        raise Failure(f"There is no account {email}.")
    return user


def _create(
    email: str, password_stdin: bool, confirmed: bool, if_missing: bool
) -> "tuple[User, bool]":
    """Return the account, and whether this command has created it."""
    from readback.cabinet.accounts import selectors as account_selectors
    from readback.cabinet.accounts import services as account_services

    user = account_selectors.account_find(email) if if_missing else None
    if user is not None:
        return user, False
    password = prompts.password(password_stdin)
    try:
        return account_services.account_create(
            email, password, confirmed=confirmed
        ), True
    except account_services.AccountExistsError:
        if not if_missing:
            raise
        # Another command has created it in the meantime.
        return find_account(email), False


def _as_json(user: "User") -> dict[str, Any]:
    from readback.cabinet.accounts import selectors as account_selectors
    from readback.cabinet.keys import selectors as key_selectors

    return {
        "email": user.email,
        "active": user.is_active,
        "confirmed": account_selectors.account_is_confirmed(user),
        "operator": user.is_staff,
        "created_at": user.date_joined,
        "last_login_at": user.last_login,
        "keys": key_selectors.keys_of(user).count(),
        "active_keys": key_selectors.keys_active(user).count(),
    }


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"
