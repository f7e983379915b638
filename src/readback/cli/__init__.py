"""The command line: the only code that imports both the API and the cabinet.

Each command has a module. The server's packages, such as Django, are imported inside
the commands that need them, so that `readback --help` starts quickly and also works
where only the probe's packages are installed.
"""

import io
import sys
from typing import Any

import click

from readback import __version__
from readback.cli.account import account
from readback.cli.audit import audit
from readback.cli.backup import backup, restore
from readback.cli.database import manage, migrate
from readback.cli.doctor import doctor
from readback.cli.exit_codes import CannotStart
from readback.cli.key import key
from readback.cli.serve import serve
from readback.cli.wait import wait

_COMMANDS = [serve, wait, account, key, audit, migrate, backup, restore, doctor, manage]


class CommandLine(click.Group):
    """The whole program; it reports a missing package in one sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package == "readback":
                raise
            raise CannotStart(
                f"This command needs packages that are not installed ({package}): "
                "install Readback with [server], as in pip install '.[server]' in a "
                "checkout, or pip install 'readback_api-….whl[server]' with a wheel."
            ) from None

    def main(self, *args: Any, **extra: Any) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A terminal may be unable to show some characters of a key's name.
            sys.stdout.reconfigure(errors="replace")
        return super().main(*args, **extra)


@click.group(
    cls=CommandLine,
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="readback")
def main() -> None:
    """Readback: a connection-test API that returns one message unchanged.

    Settings are environment variables; `readback doctor` checks them.
    """


@main.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def probe(arguments: tuple[str, ...]) -> None:
    """Find out why a connection does not work."""
    # The probe parses its own options, because it also runs without click, from the
    # file that the cabinet offers for download.
    from readback.probe.command import main
    from readback.probe.common.background import end_process

    end_process(main(list(arguments)))
