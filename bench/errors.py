"""The one exception of the benchmark."""

import click


class MeasurementError(click.ClickException):
    """Something could not be installed, started or measured; the message says why.

    A run over several peers reports it and continues with the next one. Everywhere
    else it ends the command with this message and exit code 1.
    """
