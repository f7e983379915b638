"""The command line: the only code that imports both the API and the cabinet.

One module per command. Importing them costs no more than importing click: Django,
gunicorn and both planes are imported inside the commands that need them, so that
`readback --help` also works where only the probe's packages are installed.
"""

import click

from readback import __version__
from readback.cli.account import account
from readback.cli.database import manage, migrate
from readback.cli.doctor import doctor
from readback.cli.invitations import invitations, invite, uninvite
from readback.cli.key import key
from readback.cli.probe import probe
from readback.cli.serve import serve
from readback.cli.streams import CommandLine
from readback.cli.wait import wait


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="readback")
def main() -> None:
    """Readback: a connection-test API that returns one message unchanged.

    Settings are environment variables; `readback doctor` checks them.
    """


for command in (serve, wait, probe, account, key, migrate, doctor, manage):
    main.add_command(command)

for command in (invite, invitations, uninvite):
    account.add_command(command)
