"""What a command says about the e-mail that its change causes."""

import click

from readback.cli.settings import load


def print_mail_note() -> None:
    """Say who sends the e-mail: not this command, which does not wait for it."""
    if load().smtp_url:
        note = "The owner is notified by e-mail as soon as a cabinet is running."
        click.echo(note, err=True)
