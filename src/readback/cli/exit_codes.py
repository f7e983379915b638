"""The exit codes, and the exceptions that end a command with one of them."""

from enum import IntEnum

import click


class ExitCode(IntEnum):
    """The exit codes of every command except `readback probe`, which adds its own."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    CANNOT_START = 3

    @property
    def sentence(self) -> str:
        return {
            ExitCode.OK: (
                "The command succeeded, or the server stopped because it was asked to."
            ),
            ExitCode.FAILURE: "The command or one of its checks failed.",
            ExitCode.USAGE: "The command line is invalid.",
            ExitCode.CANNOT_START: (
                "A setting is invalid, an address cannot be listened on, or the "
                "database cannot be used."
            ),
        }[self]


class Failure(click.ClickException):
    """End the command with one sentence on standard error and exit code 1."""

    exit_code = ExitCode.FAILURE


class CannotStart(click.ClickException):
    """End the command with one sentence on standard error and exit code 3."""

    exit_code = ExitCode.CANNOT_START
