"""All checks of `readback doctor`, in the order of its report.

Each is a generator of results in a module of its subject; a new one goes into the list.
"""

from dataclasses import fields

from readback.cli.doctor import certificate, database, files, mail, network
from readback.cli.doctor.report import Check, CheckResults, ok
from readback.config import Config


def settings(config: Config) -> CheckResults:
    """Count the settings, which are valid if this is called."""
    changed = sum(getattr(config, row.name) != row.default for row in fields(config))
    yield ok("settings", f"all valid; {changed} differ from the default")


CHECKS: tuple[Check, ...] = (
    settings,
    files.data_directory,
    files.disk,
    files.secret_key,
    files.permissions,
    files.secret_files,
    certificate.certificate,
    network.addresses,
    database.database,
    mail.mail_server,
    network.provider,
    network.binds,
)
