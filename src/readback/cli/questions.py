"""What a command asks the person in front of it."""

import sys

import click


def confirm(question: str, *, yes: bool) -> None:
    """Go on only with a yes; where nobody can be asked, the option must say it."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody can be asked here: add --yes to go on.")
    click.confirm(question, abort=True)


def password(from_stdin: bool) -> str | None:
    """Get a new password, without echo; None means that there shall be none."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n") or None
    if not sys.stdin.isatty():
        return None
    answer: str = click.prompt(
        "Password (empty for none)",
        default="",
        show_default=False,
        hide_input=True,
        confirmation_prompt=True,
    )
    return answer or None
