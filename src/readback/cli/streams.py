"""Standard output: what happens if it is closed, or cannot be written.

A command that cannot write its output ends with one sentence. If the output is a
secret that is shown once, it is written before the change is committed.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from readback import logs
from readback.cli.exit_codes import CannotStart, ExitCode, Failure


class CommandLine(click.Group):
    """The whole program. Errors of standard output and of an import end here."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package == "readback":
                raise
            raise CannotStart(
                f"This command needs packages that are not installed ({package}): add "
                "[server] to what you install, as in pip install '.[server]' in a "
                "checkout of Readback, or pip install 'readback_api-….whl[server]' "
                "with a wheel."
            ) from None

    def main(self, *args: Any, **extra: Any) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Not every terminal can show every character of a key's name.
            sys.stdout.reconfigure(errors="replace")
        try:
            try:
                return super().main(*args, **extra)
            finally:
                flush_output()
        except OSError as error:
            # A broken pipe does not get here: its reader has seen enough.
            if not _output_fails():
                raise
            Failure(give_up_output(error)).show()
            sys.exit(ExitCode.FAILURE)
        finally:
            logs.flush()


@contextmanager
def written_before_commit() -> Iterator[None]:
    """Commit what the block changes only after what it prints has been written.

    Ask nothing inside the block: a transaction of SQLite makes all other writers wait.
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
    """Write what is in the buffer; raise OSError if that is not possible."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()


def give_up_output(error: OSError) -> str:
    """Return why standard output cannot be written, and drop what is in its buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    return f"Standard output cannot be written: {error.strerror}."


def _output_fails() -> bool:
    """Return whether an error was one of standard output: its buffer is still full."""
    try:
        flush_output()
    except OSError:
        return True
    return False
