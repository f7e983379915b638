"""How a command ends: the exit codes, and the exceptions that lead to them."""

from enum import IntEnum

import click


class Exit(IntEnum):
    """The exit codes, with what each one tells the caller."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    CANNOT_START = 3

    @property
    def sentence(self) -> str:
        return {
            Exit.OK: "It is done; a server that was asked to stop has stopped.",
            Exit.FAILURE: "What was asked cannot be done, or a check failed.",
            Exit.USAGE: "The command line is not understood.",
            Exit.CANNOT_START: (
                "The settings are wrong, an address cannot be listened on, or the "
                "database cannot be used."
            ),
        }[self]


class Failure(click.ClickException):
    """One sentence on stderr, and the exit code FAILURE."""

    exit_code = Exit.FAILURE


class CannotStart(click.ClickException):
    """One sentence on stderr, and the exit code CANNOT_START."""

    exit_code = Exit.CANNOT_START
