"""The standard streams: what happens if one is closed, or cannot be written.

A command that cannot write its output ends with one sentence. If the output is a
secret that is shown once, it is written before the change is committed. What cannot be
written to standard error is lost, and nothing else: a server goes on when the disk of
its log is full.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from readback import logs
from readback.cli.exit_codes import ExitCode, Failure


class OutputError(OSError):
    """Standard output cannot be written."""

    @property
    def sentence(self) -> str:
        return f"Standard output cannot be written: {self.strerror}."


class CommandLine(click.Group):
    """The whole program. Every error of standard output ends here."""

    def main(self, *args: Any, **extra: Any) -> Any:
        _guard_streams()
        try:
            try:
                return super().main(*args, **extra)
            finally:
                sys.stdout.flush()
        except OutputError as error:
            # A broken pipe does not get here: its reader has seen enough.
            Failure(error.sentence).show()
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
    except OutputError as error:
        raise Failure(f"{error.sentence} Nothing was changed.") from None
    except Error:
        if is_written:
            click.echo("Do not use what is printed above: it was not stored.", err=True)
        raise


# The text layer, not the file below it, turns errors into ours: a Ctrl-C between a
# write and the return from Python code there would make the buffer write it again.


class _StandardStream(io.TextIOWrapper):
    """A stream that calls `_failed` instead of raising the errors of the system."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._failed(error)
        return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """Lose what cannot be written, as standard error does."""


class _StandardOutput(_StandardStream):
    """Raises the first error. What is left in a buffer after it is lost silently."""

    _is_broken = False

    def _failed(self, error: OSError) -> None:
        if not self._is_broken:
            self._is_broken = True
            raise OutputError(error.errno, error.strerror) from None


def _guard_streams() -> None:
    """Open a descriptor for each stream, and turn their errors into ours.

    Without a descriptor, the next file or socket that is opened would be "standard
    output". Writing to one that the caller has closed fails as it would without this.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # the lowest that is free, so it is this one
            os.open(os.devnull, os.O_RDWR if descriptor == 2 else os.O_RDONLY)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    if sys.stdout is sys.__stdout__:  # a test may have replaced it
        sys.stdout = _text(_StandardOutput, 1, sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_StandardStream, 2, sys.stderr)


def _text(kind: type[io.TextIOWrapper], descriptor: int, like: Any) -> TextIO:
    """Return a stream of text with the settings of another, which may be None."""
    return kind(
        io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False)),
        encoding=getattr(like, "encoding", "utf-8"),
        # Not every terminal can show every character of a key's name.
        errors="replace" if descriptor == 1 else "backslashreplace",
        line_buffering=getattr(like, "line_buffering", False) or descriptor == 2,
        write_through=getattr(like, "write_through", False),
    )
