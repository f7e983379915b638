"""The exit codes, and the exceptions that end a command with one of them."""

from enum import IntEnum

import click


class ExitCode(IntEnum):
    """The exit codes of every command except `readback probe`, which adds its own."""

    sentence: str

    def __new__(cls, code: int, sentence: str) -> "ExitCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member

    OK = 0, "The command succeeded, or the server stopped because it was asked to."
    FAILURE = 1, "The command or one of its checks failed."
    USAGE = 2, "The command line is invalid."
    CANNOT_START = (
        3,
        "A setting is invalid, an address cannot be listened on, or the database "
        "cannot be used.",
    )


class Failure(click.ClickException):
    """End the command with one sentence on standard error and exit code 1."""

    exit_code = ExitCode.FAILURE


class CannotStart(click.ClickException):
    """End the command with one sentence on standard error and exit code 3."""

    exit_code = ExitCode.CANNOT_START
