"""The standard streams: what happens if one is closed, or cannot be written.

A command that cannot write its output ends with one sentence. If the output is a
secret that is shown once, it is written before the change is committed. What cannot be
written to standard error is dropped; a server keeps running when the disk of its log is
full.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        _open_streams()
        try:
            try:
                return super().main(*args, **extra)
            finally:
                sys.stdout.flush()
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

    Ask nothing inside: a transaction of SQLite makes all other writers wait.
    """
    from django.db import Error, transaction

    is_written = False
    try:
        with transaction.atomic():
            yield
            sys.stdout.flush()
            is_written = True
    except OSError as error:
        raise Failure(f"{give_up_output(error)} Nothing was changed.") from None
    except Error:
        if is_written:
            click.echo("Do not use what is printed above: it was not stored.", err=True)
        raise


def give_up_output(error: OSError) -> str:
    """Return why standard output cannot be written, and drop what is in its buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return f"Standard output cannot be written: {error.strerror}."


def _output_fails() -> bool:
    """Return whether an error was one of standard output: its buffer is still full."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


class _Notes(io.TextIOWrapper):
    """Standard error, which drops what it cannot write."""

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def _open_streams() -> None:
    """Open a descriptor for each stream that the caller has closed.

    Without it, the next file or socket that is opened would be "standard output".
    Writing to standard output fails as it would without this.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # the lowest that is free, so it is this one
            os.open(os.devnull, os.O_RDWR if descriptor == 2 else os.O_RDONLY)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    if sys.stderr is sys.__stderr__:  # a test may have replaced it
        buffer = open(2, "wb", closefd=False)  # noqa: SIM115
        sys.stderr = _Notes(buffer, errors="backslashreplace", line_buffering=True)
    if sys.stdout is sys.__stdout__:
        # With a buffer, whatever PYTHONUNBUFFERED says. Not every terminal can show
        # every character of a key's name.
        encoding = getattr(sys.stdout, "encoding", None)
        sys.stdout = open(1, "w", 1, encoding, "replace", closefd=False)  # noqa: SIM115
