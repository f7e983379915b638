"""`readback doctor`: check everything that a start needs, and change nothing.

Each check is a generator of results in one of the modules here; a new one goes into
`_CHECKS`. If settings are invalid, the report has one line for each of them and nothing
else, because every check depends on the settings.
"""

from dataclasses import fields

import click

from readback.cli import settings, tables
from readback.cli.doctor import certificate, database, files, mail, network
from readback.cli.doctor.report import Check, CheckResult, CheckStatus, fail, ok
from readback.cli.exit_codes import ExitCode
from readback.config import Config, ConfigError, read


@click.command()
@tables.json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check settings, files, certificate, database, clock, mail and addresses.

    Changes nothing. The exit code is 1 if a check fails; warnings do not count.
    """
    settings.require_server_packages()
    results = _results()
    if as_json:
        tables.print_json([result._asdict() for result in results])
    else:
        tables.print_rows(("", "check", "found", "what to do"), results)
    failed = any(result.status == CheckStatus.FAIL for result in results)
    context.exit(ExitCode.FAILURE if failed else ExitCode.OK)


def _results() -> list[CheckResult]:
    try:
        config = read()
    except ConfigError as error:
        action = "Correct or remove the variable; docs/settings.md lists all of them."
        return [fail("settings", problem, action) for problem in error.problems]
    checked = [result for check in _CHECKS for result in check(config)]
    return [_settings(config), *checked]


def _settings(config: Config) -> CheckResult:
    changed = sum(getattr(config, row.name) != row.default for row in fields(config))
    return ok("settings", f"all valid; {changed} differ from the default")


_CHECKS: tuple[Check, ...] = (
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
