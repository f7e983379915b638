"""Questions that a command asks the person at the terminal."""

import sys

import click


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation unless `yes` is set; abort the command on "no"."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(
            "Standard input is not a terminal, so confirmation is not possible: "
            "add --yes to proceed."
        )
    # Standard output may be JSON, or a key.
    click.confirm(question, abort=True, err=True)


def password(from_stdin: bool) -> str | None:
    """Return a new password, read without echo; None means no password."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n") or None
    if not sys.stdin.isatty():
        return None
    answer: str = click.prompt(
        "Password (leave empty for none)",
        default="",
        show_default=False,
        hide_input=True,
        confirmation_prompt=True,
    )
    return answer or None
