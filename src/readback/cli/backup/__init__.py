"""`readback backup` and `readback restore`: everything of an installation in one file.

`archive.py` has the format of the file, `copying.py` what the two commands do and in
which order, `sqlite.py` and `postgresql.py` the database.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from readback.cli import console
from readback.cli.database import report_database_errors, set_up_django
from readback.cli.doctor import doctor
from readback.cli.exit_codes import Failure

if TYPE_CHECKING:
    from readback.cli.backup.archive import Manifest

_STANDARD_STREAM = "-"


@click.command()
@click.argument("file")
@console.flag("--verify", help="Check that an archive is complete; write nothing.")
@console.flag("--yes", help="Replace FILE if it exists.")
def backup(file: str, verify: bool, yes: bool) -> None:
    """Write everything of this installation to an archive.

    Works while Readback is running. FILE gets the database, the secret key, the brand
    folder and the settings without secrets. Only you can read it; - is standard output.
    """
    from readback.cli.backup import archive, copying

    is_stream = file == _STANDARD_STREAM
    if verify:
        with _one_sentence(), click.open_file(file, "rb") as source:
            manifest = archive.read(source)
        click.echo(f"{file} is complete: {_describe(manifest)}.")
        return
    if is_stream and sys.stdout.isatty():
        raise click.UsageError("Standard output is a terminal: name a file or a pipe.")
    if not is_stream and os.path.lexists(file) and not yes:
        raise Failure(f"{file} exists: choose another name, or add --yes.")
    config = set_up_django(needs_secret_key=False)
    with _one_sentence(), report_database_errors():
        if is_stream:
            with copying.temporary_folder() as folder:
                manifest = copying.save(sys.stdout.buffer, config, folder)
        else:
            manifest = copying.save_file(file, config, replace=yes)
        click.echo(f"Wrote {file}: {_describe(manifest)}.", err=is_stream)
        copying.remember(manifest)


@click.command()
@click.argument("file")
@console.flag("--yes", help="Do not ask before something is replaced.")
@console.flag("--online", help="Restore while Readback is running.")
@click.pass_context
def restore(context: click.Context, file: str, yes: bool, online: bool) -> None:
    """Restore what `readback backup` has written to FILE; - is standard input.

    Checks everything before it changes anything, and ends with `readback doctor`.
    """
    from readback.cli.backup import copying

    config = set_up_django(needs_secret_key=False)
    with (
        _one_sentence(),
        report_database_errors(),
        click.open_file(file, "rb") as source,
        copying.folder_for_restore(config) as folder,
    ):
        checked = copying.Restore(config, source, folder, online=online)
        if checked.replaces:
            console.confirm(f"Replace {' and '.join(checked.replaces)}?", yes=yes)
        if checked.brand_is_left:
            note = "The brand folder stays in the archive: READBACK_BRAND_DIR is not an"
            click.echo(f"{note} empty folder that this user can write to.", err=True)
        checked.run()
    click.echo(f"Restored {file}: {_describe(checked.manifest)}.")
    if differing := ", ".join(checked.differing_settings):
        click.echo(f"These settings differ from the archive's: {differing}.", err=True)
    if not config.secret_key:  # `set_up_django` has invented one for this process
        del os.environ["READBACK_SECRET_KEY"]
    context.invoke(doctor)


def _describe(manifest: "Manifest") -> str:
    size = sum(size for _, size, _ in manifest.members)
    at = console.format_time(datetime.fromtimestamp(manifest.created_at, UTC))
    return (
        f"Readback {manifest.version}, {manifest.database_name}, {size:,} bytes, {at}"
    )


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Report what goes wrong in one sentence; on SIGTERM, remove temporary files."""
    from readback.cli.backup.archive import ArchiveError

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    except ArchiveError as error:
        raise Failure(str(error)) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        raise Failure(f"{where}{error.strerror}.") from None
    finally:
        signal.signal(signal.SIGTERM, before)
