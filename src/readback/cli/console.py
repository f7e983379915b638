"""How commands parse durations, ask questions and print their results.

Questions and notes are written to standard error, because standard output is for the
result: a table in a terminal, tab-separated lines in a pipe, or JSON on request. A
secret that is shown only once is written before the change is committed.
"""

import errno
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import click

from readback.cli.exit_codes import Failure

flag = partial(click.option, is_flag=True)
json_flag = partial(flag, "--json", "as_json")
json_option = json_flag(help="Print JSON on standard output.")
yes_option = flag("--yes", help="Do not ask for confirmation.")
_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, or tab-separated lines if the output is not a terminal."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    table = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        padded = map(str.ljust, row, widths)
        click.echo("  ".join(padded).rstrip())


def print_json(value: Any) -> None:
    """Print one JSON object or list, with times in the form 2026-11-15T04:12:00Z."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_json_time))


def print_result(sentence: str, value: Any, as_json: bool) -> None:
    """Print the sentence for a person, or the value as JSON for a program."""
    if as_json:
        print_json(value)
    else:
        click.echo(sentence)


def format_time(at: datetime | None) -> str:
    """Return the time in UTC, or a dash if there is none."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}" if at else "-"


def _json_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation unless `yes` is set; abort the command on "no"."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("Confirmation needs a terminal: add --yes to proceed.")
    click.confirm(question, abort=True, err=True)


def ask_for_password(from_stdin: bool) -> str | None:
    """Ask for a new password, or read it from standard input; return None if empty."""
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
        err=True,
    )
    return answer or None


def duration(value: str) -> timedelta:
    """Parse a duration such as 30d; click shows this function's name in the help."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})(ms|[dhms])", value)
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    # At most a century, so that adding it to a date never overflows.
    if not 0 < seconds <= 36_500 * 86_400:
        raise click.BadParameter(
            "must be a number with a unit, such as 30d, 12h, 15m or 1s; at most 36500d."
        )
    return timedelta(seconds=seconds)


@contextmanager
def written_before_commit() -> Iterator[None]:
    """Commit the changes of the block only after its output has been written.

    Do not wait for input in the block: in SQLite, the transaction blocks other writers.
    """
    from django.db import Error, transaction

    is_written = False
    try:
        with transaction.atomic():
            yield
            flush_output()
            is_written = True
    except OSError as error:
        raise Failure(f"{give_up_output(error)} Nothing was changed.") from None
    except Error:
        if is_written:
            click.echo("Do not use what is printed above: it was not stored.", err=True)
        raise


def flush_output() -> None:
    """Write buffered output; raise OSError if that is not possible."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()


def give_up_output(error: OSError) -> str:
    """Discard buffered output; return the reason as a sentence."""
    discard_output()
    return f"Standard output cannot be written: {error.strerror}."


def discard_output() -> None:
    """Discard all further output, even if standard output is closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
