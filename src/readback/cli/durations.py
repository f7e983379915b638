"""Durations on the command line: a whole number and a unit."""

import re
from datetime import timedelta

import click

_UNITS = {
    "d": "days",
    "h": "hours",
    "m": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
}


def duration(value: str) -> timedelta:
    """Parse a time such as 30d; click shows this function's name in the help."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})(ms|[dhms])", value)
    if not match:
        raise click.BadParameter(
            "must be a number with a unit, such as 30d, 12h, 15m or 1s."
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
