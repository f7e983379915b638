"""The exit codes, and the exceptions that end a command with one and a sentence."""

from enum import IntEnum

import click


class ExitCode(IntEnum):
    """For every command except `readback probe`; docs/cli.md explains them."""

    OK = 0
    FAILURE = 1
    USAGE = 2  # chosen by click
    CANNOT_START = 3


class Failure(click.ClickException):
    exit_code = ExitCode.FAILURE


class CannotStart(click.ClickException):
    exit_code = ExitCode.CANNOT_START
