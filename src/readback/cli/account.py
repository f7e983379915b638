"""`readback account`: manage one account, identified by its e-mail address."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from readback.cli import console
from readback.cli.database import open_cabinet
from readback.cli.exit_codes import Failure
from readback.cli.settings import load

if TYPE_CHECKING:
    from readback.cabinet.models import User

_confirmed_option = console.flag(
    "--confirmed", help="Mark the address as confirmed without sending an e-mail."
)
_FLAGS = ("active", "confirmed", "operator")


@click.group()
def account() -> None:
    """Create, invite, show, change or delete accounts."""


def _command(name: str | None = None) -> Callable[[Any], click.Command]:
    """Add a command with an e-mail address as its argument and a --json option."""

    def add(function: Any) -> click.Command:
        with_options = click.argument("email")(console.json_option(function))
        return account.command(name)(with_options)

    return add


@_command()
@_confirmed_option
@console.flag("--password-stdin", help="Read the password from standard input.")
@console.flag(
    "--operator", "is_operator", help="Let the account use the pages for operators."
)
@console.flag(
    "--if-missing", help="Succeed without a change if the account already exists."
)
def create(
    email: str,
    confirmed: bool,
    password_stdin: bool,
    is_operator: bool,
    if_missing: bool,
    as_json: bool,
) -> None:
    """Create an account.

    Asks for a password on a terminal. An account without a password can have keys;
    its owner can set one later with "forgot password" in the cabinet.
    """
    with open_cabinet():
        from django.db import transaction

        from readback.cabinet.accounts import selectors as account_selectors
        from readback.cabinet.accounts import services as account_services

        user = account_selectors.account_find(email) if if_missing else None
        is_new = user is None
        if user is None:
            password = console.ask_for_password(password_stdin)
            with transaction.atomic():
                user = account_services.account_create(
                    email, password, confirmed=confirmed
                )
                if is_operator:
                    account_services.account_set_operator(user, True)
        shown = _as_json(user) | {"created": is_new}
    state = "confirmed" if confirmed else "not confirmed"
    sentence = f"Created the account {user.email} ({state})."
    if not is_new:
        sentence = f"The account {user.email} already exists."
    console.print_result(sentence, shown, as_json)


@_command()
def show(email: str, as_json: bool) -> None:
    """Show the state of an account."""
    with open_cabinet():
        shown = _as_json(find_account(email))
    if as_json:
        console.print_json(shown)
        return
    rows = [
        ("e-mail", shown["email"]),
        *((name, "yes" if shown[name] else "no") for name in _FLAGS),
        ("created", console.format_time(shown["created_at"])),
        ("last login", console.format_time(shown["last_login_at"])),
        ("keys", f"{shown['active_keys']} of {shown['keys']} active"),
    ]
    console.print_rows(("account", ""), rows)


@_command()
def deactivate(email: str, as_json: bool) -> None:
    """Deactivate an account.

    Its keys are refused within 1 second and its owner cannot log in.
    """
    with _changed(email, f"Deactivated {email}.", as_json) as user:
        from readback.cabinet.accounts import services

        services.account_deactivate(user)


@_command()
@_confirmed_option
def activate(email: str, confirmed: bool, as_json: bool) -> None:
    """Activate an account again; its keys work as before."""
    with _changed(email, f"Activated {email}.", as_json) as user:
        from readback.cabinet.accounts import services

        services.account_activate(user)
        if confirmed:
            services.account_confirm(user)


@_command()
@click.argument("state", type=click.Choice(["on", "off"]))
def operator(email: str, state: str, as_json: bool) -> None:
    """Grant or remove access to the pages for operators."""
    done = "is an operator now" if state == "on" else "is no longer an operator"
    with _changed(email, f"{email} {done}.", as_json) as user:
        from readback.cabinet.accounts import services

        services.account_set_operator(user, state == "on")


@_command("reset-second-factor")
def reset_second_factor(email: str, as_json: bool) -> None:
    """Remove the second factor of an owner who has lost it.

    The account's passkeys, authenticator app and recovery codes stop working, and all
    its sessions end. First make sure that the request comes from the owner.
    """
    done = f"Removed the second factor of {email} and ended its sessions."
    with _changed(email, done, as_json) as user:
        from readback.cabinet.accounts import second_factor

        second_factor.second_factor_reset(user)


@_command("end-sessions")
def end_sessions(email: str, as_json: bool) -> None:
    """End all sessions of an account."""
    with _changed(email, f"Ended all sessions of {email}.", as_json) as user:
        from readback.cabinet.accounts import sessions

        sessions.sessions_end_by_operator(user)


@_command()
def disconnect(email: str, as_json: bool) -> None:
    """Disconnect an account from single sign-on.

    All its sessions end. The next person who uses single sign-on with the same address
    gets the account with its keys: first make sure that it is the same person.
    """
    done = f"Disconnected {email} from single sign-on and ended its sessions."
    with _changed(email, done, as_json) as user:
        from readback.cabinet.accounts import single_sign_on

        single_sign_on.account_disconnect(user)


@_command()
@console.yes_option
def delete(email: str, yes: bool, as_json: bool) -> None:
    """Delete an account.

    Its keys and their history are deleted too. This cannot be undone.
    """
    with open_cabinet():
        from readback.cabinet.accounts import services as account_services

        user = find_account(email)
        keys = f"its keys ({user.keys.count()}) and their history"
        console.confirm(f"Delete {user.email} with {keys}?", yes=yes)
        account_services.account_delete(user)
    deleted = {"email": user.email, "deleted": True}
    console.print_result(f"Deleted {email}.", deleted, as_json)


def find_account(email: str) -> "User":
    from readback.cabinet.accounts import selectors as account_selectors

    user = account_selectors.account_find(email)
    if user is None:
        raise Failure(f"There is no account {email}.")
    return user


@contextmanager
def _changed(email: str, done: str, as_json: bool) -> Iterator["User"]:
    """Yield the account to a block that changes it, then print the result."""
    with open_cabinet():
        user = find_account(email)
        yield user
        shown = _as_json(user)
    console.print_result(done, shown, as_json)


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


@_command()
@console.flag(
    "--link",
    "print_link",
    help="Print the link to choose a password, which works for a week, instead of "
    "sending an e-mail. It is a secret.",
)
def invite(email: str, print_link: bool, as_json: bool) -> None:
    """Create an account, and invite its owner by e-mail.

    The e-mail has a link to choose a password, which works for a week. To invite many
    people at once, use the pages for operators.
    """
    if not print_link and not load().smtp_url:
        raise Failure(
            "READBACK_SMTP_URL is not set, so no e-mail can be sent: add --link to "
            "print a link instead."
        )
    with open_cabinet(), console.written_before_commit():
        from readback.cabinet.accounts.selectors import invitation_link
        from readback.cabinet.accounts.services import account_invite

        user = account_invite(email, mail=not print_link)
        link = invitation_link(user) if print_link else None
        sentence = link or f"Invited {user.email}."
        console.print_result(sentence, {"email": user.email, "link": link}, as_json)
    if not print_link:
        click.echo("The e-mail is sent as soon as a cabinet is running.", err=True)
