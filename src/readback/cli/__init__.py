"""The command line: the only code that knows both planes.

One module per noun. Importing any of them costs no more than click: Django, gunicorn
and the planes are imported inside the commands that need them, so that an
installation without the server parts still has a working `readback --help`.
"""

import click

from readback import __version__
from readback.cli.account import account
from readback.cli.database import manage, migrate
from readback.cli.doctor import doctor
from readback.cli.key import key
from readback.cli.probe import probe
from readback.cli.serve import serve


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="readback")
def main() -> None:
    """Readback: a connection-test API that reads one message back, unchanged.

    Settings are environment variables; `readback doctor` looks at them.
    """


for command in (serve, probe, account, key, migrate, doctor, manage):
    main.add_command(command)
