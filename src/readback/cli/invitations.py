"""The commands of `readback account` that invite people to create an account."""

from typing import TYPE_CHECKING, Any

import click

from readback.cli import tables
from readback.cli.django_setup import open_cabinet
from readback.cli.exit_codes import Failure
from readback.cli.settings import load
from readback.cli.streams import written_before_commit
from readback.contract import INVITATION_DAYS

if TYPE_CHECKING:
    from readback.cabinet.models import Invitation


@click.command()
@click.argument("email")
@click.option(
    "--days",
    type=click.IntRange(1, 90),
    default=INVITATION_DAYS,
    show_default=True,
    help="For how many days the link works.",
)
@click.option(
    "--link",
    "print_link",
    is_flag=True,
    help="Print the link instead of sending it by e-mail. It is a secret.",
)
@tables.json_option
def invite(email: str, days: int, print_link: bool, as_json: bool) -> None:
    """Invite a person to create an account.

    They receive a link that works once. Inviting an address again sends a new link, and
    earlier links stop working.
    """
    if not print_link and not load().smtp_url:
        raise Failure(
            "READBACK_SMTP_URL is not set, so no e-mail can be sent: add --link to "
            "print the link instead."
        )
    with open_cabinet(), written_before_commit():
        from readback.cabinet.accounts import invitations as account_invitations

        invitation = account_invitations.invitation_create(
            email, days=days, mail=not print_link
        )
        click.echo(_note(invitation, print_link), err=True)
        link = account_invitations.invitation_link(invitation) if print_link else None
        if as_json:
            shown = {"mail": not print_link, "link": link}
            tables.print_json(_as_json(invitation) | shown)
        elif link:
            click.echo(link)


@click.command()
@tables.json_option
def invitations(as_json: bool) -> None:
    """List invitations: address, state, who invited, and times."""
    with open_cabinet():
        from readback.cabinet.accounts import invitations as account_invitations

        shown = [_as_json(each) for each in account_invitations.invitations()]
    if as_json:
        tables.print_json(shown)
        return
    headings = ("e-mail", "state", "invited by", "created", "expires", "accepted")
    tables.print_rows(headings, [_row(each) for each in shown])


@click.command()
@click.argument("email")
@tables.json_option
def uninvite(email: str, as_json: bool) -> None:
    """Withdraw an invitation; its link stops working."""
    with open_cabinet():
        from readback.cabinet.accounts import invitations as account_invitations

        invitation = account_invitations.invitation_find(email)
        if invitation is None:
            raise Failure(f"There is no invitation for {email}.")
        account_invitations.invitation_withdraw(invitation)
    withdrawn = {"email": invitation.email, "withdrawn": True}
    tables.print_result(
        f"Withdrew the invitation for {invitation.email}.", withdrawn, as_json
    )


def _note(invitation: "Invitation", print_link: bool) -> str:
    note = (
        "No e-mail is sent. Pass on this link; it works once:"
        if print_link
        else "The e-mail is sent as soon as a cabinet is running."
    )
    until = tables.format_time(invitation.expires_at)
    return f"Invited {invitation.email} until {until}. {note}"


def _as_json(invitation: "Invitation") -> dict[str, Any]:
    inviter = invitation.invited_by
    return {
        "email": invitation.email,
        "state": invitation.state.value,
        "invited_by": inviter.email if inviter else None,
        "created_at": invitation.created_at,
        "expires_at": invitation.expires_at,
        "accepted_at": invitation.accepted_at,
    }


def _row(shown: dict[str, Any]) -> tuple[str, ...]:
    times = (shown[name] for name in ("created_at", "expires_at", "accepted_at"))
    inviter = shown["invited_by"] or "-"
    return shown["email"], shown["state"], inviter, *map(tables.format_time, times)
